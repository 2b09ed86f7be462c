// Keys, the filter, ages, and what became of the connection. The page can be read without it.
(() => {
  "use strict";
  // All pages are below a root that only this server and its browsers know. The page that refuses has none:
  // there a browser that was let in before goes on.
  const main = document.querySelector("a.brand");
  if (main) localStorage.setItem("root", main.pathname);
  else if (location.pathname === "/" && localStorage.getItem("root")) location.replace(localStorage.getItem("root"));

  const link = document.getElementById("link");
  const filter = document.getElementById("filter");
  const help = document.getElementById("help");
  const say = (text) => { if (link) link.textContent = text; };

  document.addEventListener("htmx:sse:error", (e) => {
    const old = e.detail && e.detail.status === 401;
    say(old ? "this page was opened by an earlier covey; covey web --url has the new address" : "connection lost; trying again");
  });
  document.addEventListener("htmx:sse:after:connection", () => say(""));
  document.addEventListener("htmx:after:request", (e) => {
    const answer = e.detail && e.detail.ctx && e.detail.ctx.response;
    const source = e.detail && e.detail.ctx && e.detail.ctx.sourceElement;
    if (!answer || !source) return;
    if (source.id === "feed") { // an answer, and no stream: the page does not change by itself
      if (answer.status >= 400) say(e.detail.ctx.text.replace(/^covey: /, ""));
      return;
    }
    const said = answer.headers && answer.headers.get("Covey-Said");
    say(said ? decodeURIComponent(said) : answer.status >= 400 ? "that did not work: " + answer.status : "");
    if (answer.status < 400 && source.reset) source.reset();
  });

  const words = (seconds) => {
    if (seconds < 60) return Math.max(0, Math.floor(seconds)) + "s";
    if (seconds < 3600) return Math.floor(seconds / 60) + "m";
    return Math.floor(seconds / 3600) + "h" + String(Math.floor(seconds / 60) % 60).padStart(2, "0") + "m";
  };
  const ages = () => {
    for (const t of document.querySelectorAll("time[data-age]")) {
      t.textContent = "for " + words((Date.now() - Date.parse(t.dateTime)) / 1000);
    }
  };
  setInterval(ages, 1000);
  ages();

  // A log keeps its newest lines, so that a page may be open for days. The others are older lines.
  const trim = () => {
    for (const log of document.querySelectorAll("[data-keep]")) {
      const over = log.childElementCount - Number(log.dataset.keep);
      if (over <= 0) continue;
      for (let i = 0; i < over; i++) log.firstElementChild.remove();
      const older = log.parentElement.querySelector(".older");
      const link = older && older.querySelector("a");
      if (!link) continue;
      const hash = new URL(link.href, location.href).hash;
      link.href = "?before=" + log.firstElementChild.id.replace("line-", "") + hash;
      older.hidden = false;
    }
  };

  // What somebody types about a place stays with that place when the changes below are replaced.
  document.addEventListener("htmx:before:morph:node", (e) => {
    const form = e.detail && e.detail.oldNode;
    const text = form && form.matches && form.matches(".comment form") && form.querySelector("textarea");
    if (text && (text.value !== "" || text === document.activeElement)) e.preventDefault();
  });

  const rows = () => [...document.querySelectorAll(".row:not(.out)")];
  const hide = () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const row of document.querySelectorAll(".row")) {
      row.classList.toggle("out", wanted !== "" && !row.textContent.toLowerCase().includes(wanted));
    }
  };
  if (filter) {
    filter.addEventListener("input", hide);
  }
  document.addEventListener("htmx:after:swap", () => { trim(); ages(); if (filter && filter.value) hide(); });
  const go = (list, step) => {
    if (list.length === 0) return;
    const at = list.indexOf(document.activeElement && document.activeElement.closest(".row"));
    const to = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length];
    to.focus();
    to.scrollIntoView({block: "nearest"});
  };
  document.addEventListener("keydown", (e) => {
    const typing = e.target.closest("input, textarea, select, [contenteditable]");
    if (e.key === "Escape" && e.target === filter) { filter.value = ""; hide(); filter.blur(); return; }
    if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
    switch (e.key) {
      case "n": go([...document.querySelectorAll(".need:not(.out)")], 1); break;
      case "j": go(rows(), 1); break;
      case "k": go(rows(), -1); break;
      case "g": location.href = main.href; break;
      case "/": filter.focus(); e.preventDefault(); break;
      case "?": help.showModal(); break;
      case "Enter": {
        const open = e.target.classList.contains("row") && e.target.querySelector("a.open");
        if (open) { location.href = open.href; }
        break;
      }
    }
  });
})();
