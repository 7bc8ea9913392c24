// Brings the parts of a page up to date, and helps with lists. Pages work without it.
"use strict";

const EVERY = 1000 * Number(document.getElementById("main").dataset.every);
const LONGEST = 60000;
let wait = EVERY;
let timer = 0;

// A part is left alone while somebody works in it.
function isInUse(part) {
  const selection = document.getSelection();
  return part.contains(document.activeElement) && document.activeElement.matches("input, select, button, textarea")
    || part.querySelector("input:checked") !== null
    || (selection !== null && !selection.isCollapsed && part.contains(selection.anchorNode));
}

function say(text) {
  const place = document.getElementById("fresh");
  if (place !== null && place.textContent !== text) place.textContent = text;
}

async function refresh() {
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
    if (answer.type === "opaqueredirect") {
      say("not up to date: the session has ended, log in again");
      wait = LONGEST;
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(part.id);
      if (fresh === null || isInUse(part) || part.innerHTML === fresh.innerHTML) continue;
      const scrolled = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
      part.className = fresh.className;
      part.replaceChildren(...fresh.childNodes);
      part.querySelectorAll(".scroll").forEach((one, at) => { one.scrollLeft = scrolled[at] ?? 0; });
      prepare(part);
    }
    wait = EVERY;
    say("live");
  } catch {
    wait = Math.min(wait * 2, LONGEST);
    say("not up to date: the server does not answer");
  }
}

// Nothing is asked while nobody looks.
function plan() {
  clearTimeout(timer);
  if (document.hidden || document.querySelector("[data-live]") === null) return;
  timer = setTimeout(async () => { await refresh(); plan(); }, wait);
}

// One box ticks all boxes of a list.
function prepare(root) {
  for (const box of root.querySelectorAll("input[data-all]")) {
    box.closest("label").hidden = false;
    box.addEventListener("change", () => {
      for (const other of box.form.querySelectorAll('input[name="key"]')) other.checked = box.checked;
    });
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else refresh().then(plan);
});
prepare(document);
plan();
