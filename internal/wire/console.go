package wire

// ConsoleHeader is in every answer of the API of a server that also serves the web console. Its value is the path at which the console begins.
const ConsoleHeader = "Tenet-Console"
