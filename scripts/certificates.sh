# Sourced by scripts that get packages. Node.js and pip trust certificates of their own; behind a proxy whose certificate only the system has, they
# take those of the system too.
system_certificates="${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}"
if [ -r "$system_certificates" ]; then
	export NODE_EXTRA_CA_CERTS="${NODE_EXTRA_CA_CERTS:-$system_certificates}" PIP_CERT="${PIP_CERT:-$system_certificates}"
fi
