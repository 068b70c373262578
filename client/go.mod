module tenet/client

go 1.26.0

require tenet v0.0.0

replace tenet => ../
