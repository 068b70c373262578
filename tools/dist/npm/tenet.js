#!/usr/bin/env node
// Runs the program of the package that npm has installed for this platform.
"use strict";

const { spawn } = require("node:child_process");

const name = `tenet-rules-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/tenet${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `tenet: the package ${name} is not installed.\n` +
      "Tenet has programs for Linux, macOS and Windows on x64 and arm64. Install again without --omit=optional (or --no-optional).",
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (error) => {
  console.error(`tenet: ${program} cannot be started: ${error.message}`);
  process.exit(2);
});
// The program decides what follows from a signal; a terminal sends it to both.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
