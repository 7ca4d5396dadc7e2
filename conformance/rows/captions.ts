import type { Rows } from "../row.js";

/** A caption line, as a host sends it. */
const line = { lang: "en", text: "Good morning.", final: true };

export const captionRows: Rows = {
  "room.captions": {
    before: { enters: "neither" },
    inRoom: "any",
    payload: ({ room }) => ({ room, lang: "en" }),
    answer: {},
  },
  "room.captions: while something is said": {
    before: { enters: "neither" },
    inRoom: "any",
    payload: async (it) => {
      await it.captions({ text: "Good morning.", final: true }, { text: "Today", final: false });
      return { room: it.room, lang: "EN" };
    },
    answer: {},
    pushes: [
      ["room.caption", "me", ({ room }) => ({ room, ...line })],
      ["room.caption", "me", ({ room }) => ({ room, lang: "en", text: "Today", final: false })],
    ],
  },
  "room.captions: no longer": {
    inRoom: "any",
    payload: ({ room }) => ({ room, lang: null }),
    answer: {},
  },
  "room.captions.list": {
    inRoom: "any",
    payload: ({ room }) => ({ room }),
    answer: { captions: [], next: null, languages: [] },
  },
  "room.captions.send": {
    as: "admin",
    inRoom: "room.caption",
    payload: ({ room }) => ({ room, ...line }),
    answer: {},
    pushes: [["room.caption_languages", "room", ({ room }) => ({ room, languages: ["en"] })]],
  },
  "room.captions.send: several lines": {
    as: "admin",
    before: { enters: "neither" },
    inRoom: "room.caption",
    payload: ({ room }) => ({
      room,
      captions: [line, { ...line, lang: "de", text: "Guten", final: false }],
    }),
    answer: {},
    pushes: [
      [
        "room.caption_languages",
        "room -me -second",
        ({ room }) => ({ room, languages: ["de", "en"] }),
      ],
    ],
  },
};
