import type { Live } from "../../client/index.js";
import { allModules, type World } from "./kit.js";
import { ELSEWHERE, payloads } from "./payloads.js";

/** A hostile world, by what a test looks up in it. */
export interface Hostile {
  stage: string;
  rooms: { id: string; name: string }[];
  /** Names of rooms that the server took. */
  names: string[];
  direct: string;
}

/** Whom all this is shown to. */
export const reader = { uid: "reader", name: "Rita", traits: ["admin", "api"] };

/** Those that are no addresses of the web, which frames may show. */
const addresses = payloads.filter(
  (text) => /^\W*[a-z\t]*:|^\/\//i.test(text) && !/^https?:/.test(text),
);

/** The configurations of modules in which an address or a text is hostile. */
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
];

/** Fills a world with what hostile people may write, in every field that pages show. */
export async function infest(world: World): Promise<Hostile> {
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
      // Some are no names.
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
  // Every other one waits.
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
    // The last two are what other clients may add.
    content: { type: "text", body, client: body, preview_card: { url: body } },
  });
