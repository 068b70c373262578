// The console's own script: times in the reader's zone, and keys. Every screen works without it.
(() => {
  "use strict";
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  // Times: the page has them in UTC, to the second, which stays in the title. Lists have little room.
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const formatShort = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const formatDay = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
  const localTimes = root => $$("time[datetime]:not([data-local])", root).forEach(time => {
    const at = new Date(time.getAttribute("datetime"));
    if (isNaN(at)) return;
    time.textContent = ("day" in time.dataset ? formatDay : time.closest(".list") ? formatShort : format).format(at);
    time.dataset.local = "";
  });
  localTimes(document);
  document.addEventListener("htmx:after:swap", () => {
    localTimes(document);
    if (document.querySelector("[data-reload]")) location.reload(); // what the page was waiting for has happened
  });

  // A choice takes effect at once; without the script there is a button.
  $$("select[data-submit]").forEach(select => {
    const button = select.form.querySelector("button");
    if (button) button.hidden = true;
    select.addEventListener("change", () => select.form.requestSubmit());
  });
  $$("[data-all]").forEach(all => {
    all.hidden = false;
    all.addEventListener("change", () => $$("[data-item] input[type=checkbox]").forEach(box => { box.checked = all.checked; }));
  });
  $$("[data-print]").forEach(button => {
    button.hidden = false;
    button.addEventListener("click", () => window.print());
  });

  // Long work: a form whose button names it shows how long it has been going on.
  const waits = [];
  document.addEventListener("submit", event => {
    const button = event.submitter;
    if (!button || !("wait" in button.dataset) || event.defaultPrevented) return;
    const line = document.createElement("p"), bar = document.createElement("progress"), text = document.createElement("span"), time = document.createElement("span");
    line.className = "row waits";
    line.setAttribute("role", "status");
    bar.setAttribute("aria-label", "Waiting");
    text.textContent = button.dataset.wait;
    time.setAttribute("aria-hidden", "true");
    line.append(bar, text, time);
    (button.closest(".row, .search, .bulk") || button).after(line);
    const start = Date.now();
    const timer = setInterval(() => { time.textContent = `${Math.round((Date.now() - start) / 1000)} s`; }, 1000);
    setTimeout(() => { button.disabled = true; }); // after its name and value are in the form
    waits.push(() => { clearInterval(timer); line.remove(); button.disabled = false; });
  });
  addEventListener("pageshow", () => { for (const end of waits.splice(0)) end(); }); // somebody has come back to the page

  const keys = document.getElementById("keys");
  $$("[data-help]").forEach(button => {
    button.hidden = false;
    button.addEventListener("click", () => keys.showModal());
  });

  // Lists: the current item is the row that has, or had last, the focus.
  const items = () => $$("[data-item]");
  let chord = false, chordEnd = 0;
  const current = () => document.querySelector("[data-item].at");
  const go = step => {
    const list = items().filter(item => item.checkVisibility()); // without those in closed branches
    if (!list.length) { press(step > 0 ? "j" : "k"); return; }
    const at = list.indexOf(current());
    const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1)];
    mark(next);
    (next.querySelector("a[href], button") || next).focus();
    next.scrollIntoView({ block: "nearest" });
  };
  const mark = item => items().forEach(other => other.classList.toggle("at", other === item));
  document.addEventListener("focusin", event => {
    const item = event.target.closest("[data-item]");
    if (item) mark(item);
  });

  // A decision on one row leads back to its place in the list, where the next row is now.
  const row = /^#row-\d+$/.test(location.hash) && (document.querySelector(location.hash) || items().at(-1));
  if (row) { mark(row); (row.querySelector("a[href], button") || row).focus(); }

  const press = key => {
    const item = current();
    const target = (item && item.querySelector(`[data-key="${key}"]`)) || document.querySelector(`[data-key="${key}"]`);
    if (!target) return false;
    target.matches("a, button, summary") && !("focus" in target.dataset) ? target.click() : target.focus();
    return true;
  };
  const acts = {
    "?": () => { if (keys && !keys.open) keys.showModal(); },
    "/": () => {
      const box = document.querySelector("[data-search]");
      if (box) { box.focus(); box.select(); }
    },
    j: () => go(1),
    k: () => go(-1),
    x: () => {
      const box = current() && current().querySelector("input[type=checkbox]");
      if (box) { box.checked = !box.checked; box.dispatchEvent(new Event("change", { bubbles: true })); }
    },
    X: () => {
      const all = document.querySelector("[data-all]");
      if (all) all.click();
    },
    a: () => press("a"), d: () => press("d"), e: () => press("e"), o: () => press("o"), m: () => press("m"), n: () => press("n"), u: () => press("u"),
    g: () => { chord = true; chordEnd = Date.now() + 1500; },
  };
  document.addEventListener("keydown", event => {
    if (event.key === "Escape" && event.target.matches("input, textarea, select")) { event.target.blur(); return; }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && "approve" in event.target.dataset) { event.preventDefault(); press("a"); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, dialog[open], [contenteditable]")) return;
    if (chord && Date.now() < chordEnd) {
      chord = false;
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    chord = false;
    const act = acts[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
