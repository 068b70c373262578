// Prints the cases of ESLint's own tests as JSON Lines, one for each sample of code. usage: node extract.cjs CLONE
"use strict";
const Module = require("node:module"), fs = require("node:fs"), path = require("node:path");
const dir = path.resolve(process.argv[2]);

// Tests need of other modules only that they load.
const hollow = new Proxy(function () {}, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => "" : hollow),
  apply: () => hollow,
  construct: () => hollow,
});
let runs = [];
class Tester {
  run(_name, _rule, tests) { runs.push(tests); }
  static setDefaultConfig() {}
}
const load = Module._load;
Module._load = (name, ...rest) => {
  if (name.endsWith("rule-tester")) return Tester;
  if (!/^(\/|node:|assert$|path$|fs$)/.test(name)) return hollow;
  return name.includes("/fixtures/") ? hollow : load(name, ...rest);
};
const real = Module.prototype.require;
Module.prototype.require = function (name) {
  return typeof name === "string" ? real.call(this, name) : hollow;
};

for (const file of fs.readdirSync(path.join(dir, "tests/lib/rules")).filter((f) => f.endsWith(".js")).sort()) {
  const name = path.basename(file, ".js"), source = path.join(dir, "lib/rules", file);
  if (!fs.existsSync(source)) continue;
  const said = /description:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/.exec(fs.readFileSync(source, "utf8"));
  if (!said) continue;
  const text = said[1].slice(1, -1).replace(/\\(.)/g, "$1"), seen = new Set();
  runs = [];
  try {
    require(path.join(dir, "tests/lib/rules", file));
  } catch (error) {
    console.error(`${name}: ${error.message.split("\n")[0]}`); // it needs more than is fetched; what it had before counts
  }
  for (const tests of runs) for (const [list, expected] of [[tests.valid, "ALLOW"], [tests.invalid, "DENY"]]) for (const entry of list || []) {
    const test = typeof entry === "string" ? { code: entry } : entry;
    // With options a rule says something else than its description; other parsers read other languages.
    if (typeof test.code !== "string" || test.options || test.languageOptions?.parser || test.code.trim() === "" || seen.has(test.code)) continue;
    seen.add(test.code);
    console.log(JSON.stringify({ id: `${name}-${seen.size}`, statement: `${text[0].toUpperCase()}${text.slice(1)}.`, path: "src/index.js", code: `${test.code}\n`, expected }));
  }
}
