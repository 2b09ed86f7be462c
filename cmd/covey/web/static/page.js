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
  let gone = 0;
  const say = (text, fault) => {
    if (!link) return;
    clearTimeout(gone);
    if (text && !fault) gone = setTimeout(() => say(""), 10000);
    link.textContent = text;
    link.classList.toggle("fault", Boolean(fault));
  };

  let lost = false;
  document.addEventListener("htmx:sse:error", (e) => {
    lost = true;
    const status = e.detail && e.detail.status;
    if (status === 410) { // covey was started again at this address, and lets this browser in
      const typed = [...document.querySelectorAll("textarea, input:not([type=hidden], [type=checkbox])")].some((f) => f !== filter && f.value !== f.defaultValue);
      if (!typed) location.reload();
      say("covey was started again; load the page anew");
      return;
    }
    const old = status === 401;
    say(old ? "this page was opened by an earlier covey; covey web --url has the new address" : "connection lost; trying again", true);
  });
  document.addEventListener("htmx:sse:after:connection", () => {
    if (lost) say(""); // what else was said stays
    lost = false;
  });
  document.addEventListener("htmx:after:request", (e) => {
    const answer = e.detail && e.detail.ctx && e.detail.ctx.response;
    const source = e.detail && e.detail.ctx && e.detail.ctx.sourceElement;
    if (!answer || !source) return;
    if (source.id === "feed") { // an answer, and no stream: the page does not change by itself
      if (answer.status >= 400) say(e.detail.ctx.text.replace(/^covey: /, ""), true);
      return;
    }
    const said = answer.headers && answer.headers.get("Covey-Said");
    const failed = answer.status >= 400;
    say(said ? decodeURIComponent(said) : failed ? "that did not work: " + answer.status : "", failed);
    const next = answer.headers && answer.headers.get("Covey-Next");
    if (next && !failed) { location.href = next; return; }
    if (failed || !source.reset) return;
    source.reset();
    const box = source.closest("details.back, details.comment");
    if (box && source.querySelector("textarea")) box.open = false;
    const file = source.parentElement;
    if (file.matches(".file")) { // a file that was viewed is closed, and one that was not is opened
      const viewed = source.querySelector("button").value === "yes";
      file.querySelector("details").open = !viewed;
    }
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
    const text = form && form.matches && form.matches(".comment form, .back form") && form.querySelector("textarea");
    if (text && (text.value !== text.defaultValue || text === document.activeElement)) e.preventDefault();
  });

  const rows = () => [...document.querySelectorAll(".row:not(.out), .file summary:first-child")].filter(e => e.checkVisibility());
  // The element for a key in the row that has the focus, else in the bar of the page.
  const wanted = (key) => {
    const row = document.activeElement.closest(".row");
    return (row || document).querySelector((row ? "" : ".bar ") + "[data-key=" + key + "]");
  };
  // What a mark is about must not happen by one key: then m only goes to the button.
  const press = (it) => {
    if (!it) return;
    if (it.matches("summary")) {
      it.parentElement.open = true;
      const box = it.parentElement; // what loses something is not under the next key
      (box.querySelector("[tabindex]") || box.querySelector("input:not([type=hidden]), button")).focus();
    } else if (it.matches("a, .yes") || it.closest(".piece:not(.marked)")) it.click(); else it.focus();
  };
  // Rows that are chosen are merged together, whichever has the focus.
  const chosen = () => document.querySelectorAll("#review input[name=piece]:checked").length;
  const merging = () => document.querySelector("#queue [value=chosen]");
  const count = () => { if (merging()) merging().textContent = chosen() ? "Merge the " + chosen() + " chosen" : "Merge the chosen"; };
  document.addEventListener("change", count);
  // A comment that is typed and not sent is not lost by a decision without a question.
  document.addEventListener("submit", (e) => {
    const text = [...document.querySelectorAll(".comment textarea")].find((t) => t.value.trim() && !e.target.contains(t));
    if (!text || !/\/(merge|return)$/.test(e.target.getAttribute("action")) || confirm("A comment is typed, and not sent. Go on without it?")) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    text.focus();
  }, true);
  const sendBack = () => {
    const box = wanted("r") && wanted("r").closest("details");
    if (!box) return;
    box.open = true;
    const text = box.querySelector("textarea");
    text.focus();
    text.setSelectionRange(text.value.length, text.value.length);
  };
  const choose = () => {
    const row = document.activeElement.closest(".row, .file");
    const box = row && row.querySelector("input[type=checkbox], :scope > form button");
    if (box) box.click(); else if (row && row.matches(".marked")) say("it has marks: Enter shows it, and it is merged there", true);
  };
  const hide = () => {
    const wanted = filter.value.trim().toLowerCase();
    setTimeout(() => { // what is found in a fold is shown
      for (const fold of document.querySelectorAll("details.fold")) if (wanted !== "" && fold.querySelector(".row:not(.out)")) fold.open = true;
    });
    for (const row of document.querySelectorAll(".row")) {
      row.classList.toggle("out", wanted !== "" && !row.textContent.toLowerCase().includes(wanted));
    }
  };
  if (filter) {
    filter.addEventListener("input", hide);
  }
  document.addEventListener("htmx:after:swap", () => { trim(); ages(); count(); if (filter && filter.value) hide(); });
  const go = (list, step) => {
    if (list.length === 0) return;
    const here = document.activeElement;
    const at = list.findIndex((e) => e.contains(here));
    const after = list.findIndex((e) => here.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING); // -1: none
    const from = at >= 0 ? at + step : step > 0 ? Math.max(after, 0) : (after < 0 ? list.length : after) - 1;
    const to = list[(from + list.length) % list.length];
    to.focus();
    to.scrollIntoView({block: "nearest"});
  };
  // A comment on a line begins with a click on it, or with c. The line is highlighted meanwhile.
  const comment = (line) => {
    let box = line && line.closest("table").nextElementSibling;
    while (box && !box.matches("details.comment, table")) box = box.nextElementSibling;
    if (!box || box.matches("table")) return;
    const numbers = [...line.cells].slice(0, 2).map((c) => c.textContent);
    const number = box.querySelector(".line-no");
    box.open = true;
    number.value = numbers[1] || numbers[0];
    aim(number);
    box.querySelector("textarea").focus();
    box.scrollIntoView({block: "end"}); // with as much as can be of the lines above
  };
  // The form says which line it is about, whatever is typed as its number.
  const aim = (number) => {
    const box = number.closest(".comment");
    const title = box.querySelector("summary");
    title.textContent = title.textContent.replace(/:\d*$/, ":" + number.value);
    for (const one of document.querySelectorAll(".hunk .aimed")) one.classList.remove("aimed");
    const file = box.closest(".file, .taskpage");
    const lines = [...file.querySelectorAll(".hunk tr")];
    const line = lines.find((l) => l.cells[1].textContent === number.value) || lines.find((l) => l.cells[0].textContent === number.value);
    if (line) line.classList.add("aimed");
  };
  document.addEventListener("input", (e) => { if (e.target.matches(".line-no")) aim(e.target); });
  document.addEventListener("click", (e) => {
    const row = e.target.closest(".hunk tr");
    if (row && getSelection().isCollapsed) comment(row);
  });
  // Lines get the focus one after another, those of the file that has it first.
  const line = (step, which) => {
    const at = document.activeElement;
    const all = [...document.querySelectorAll(".hunk tr")].filter((l) => l.checkVisibility() && (l === at || l.matches(which)));
    const file = at.closest(".file");
    const i = all.indexOf(at);
    const first = i >= 0 ? i + step : file ? all.findIndex((l) => file.compareDocumentPosition(l) & Node.DOCUMENT_POSITION_FOLLOWING) : 0;
    const to = all[first];
    if (!to) return;
    to.tabIndex = -1;
    to.focus();
    to.scrollIntoView({block: "nearest"});
  };
  const onLine = () => document.activeElement.matches(".hunk tr");
  document.addEventListener("keydown", (e) => {
    const typing = e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (e.key === "Escape" && e.target === filter) { filter.value = ""; hide(); filter.blur(); return; }
    if (e.key === "Escape" && typing) { typing.blur(); (typing.closest(".row") || document.querySelector(".hunk .aimed") || document.body).focus(); return; }
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && typing && typing.form) {
      typing.form.requestSubmit(typing.form.querySelector(e.shiftKey && typing.form.querySelector("[value=note]") ? "[value=note]" : "button"));
      return;
    }
    if (typing || e.ctrlKey || e.metaKey || e.altKey) return;
    switch (e.key) {
      case "n": if (document.querySelector(".bar")) press(wanted("n")); else go([...document.querySelectorAll(".need:not(.out)")], 1); break;
      case "p": press(wanted("p")); break;
      case "m": if (chosen() && merging()) merging().click(); else press(wanted("m")); e.preventDefault(); break;
      case "r": sendBack(); e.preventDefault(); break;
      case "x": choose(); break;
      case "c": if (onLine()) comment(document.activeElement); else { line(1, ".added, .removed"); if (onLine()) comment(document.activeElement); } e.preventDefault(); break;
      case "J": line(1, ".added, .removed"); break;
      case "K": line(-1, ".added, .removed"); break;
      case "ArrowDown": if (onLine()) { line(1, "*"); e.preventDefault(); } break;
      case "ArrowUp": if (onLine()) { line(-1, "*"); e.preventDefault(); } break;
      case "j": go(rows(), 1); break;
      case "k": go(rows(), -1); break;
      case "g": location.href = main.href; break;
      case "/": filter.focus(); e.preventDefault(); break;
      case "?": help.showModal(); break;
      case "Enter": {
        const open = e.target.classList.contains("row") && e.target.querySelector("a.open");
        const fold = e.target.classList.contains("row") && e.target.querySelector(":scope > .trouble");
        if (open) { location.href = open.href; } else if (fold) fold.open = !fold.open;
        break;
      }
    }
  });
})();
