import type { Component } from "svelte";
import type { LiveState } from "../../client/index.js";
import type { IconName } from "../components/Icon.svelte";
import type { Key } from "../i18n/index.js";
import { may, mayAnywhere } from "../lib/rights.js";
import Overview from "./overview/Overview.svelte";

/** The groups of the menu, in their order. */
export const groups = ["Event", "People", "Afterwards", "Advanced"] as const;
export type Group = (typeof groups)[number];

/** A page of the console. It has an `<h1>` of its own. */
export interface ConsolePage {
  /** The word behind `#/`. */
  readonly word: string;
  readonly label: Key;
  readonly icon: IconName;
  readonly group: Group;
  /** Whether a user may open it. */
  readonly isFor: (state: LiveState) => boolean;
  readonly load: () => Promise<{ default: Component }>;
}

/** Whether a user may use the HTTP API of a world, above all its keys. */
export const hasKeys = (state: LiveState) => may(state, "world:api") && may(state, "world:secrets");

/** Whether a user may read what happened: results and the history. */
const hasFeed = (state: LiveState) => may(state, "world:api") && may(state, "world:feed");

/** All pages, in the order of the navigation. */
export const pages: readonly ConsolePage[] = [
  {
    word: "overview",
    label: "console.overview",
    icon: "info",
    group: "Event",
    isFor: (state) => may(state, "world:update"),
    // The page that people open first is part of the console.
    load: async () => ({ default: Overview }),
  },
  {
    word: "world",
    label: "console.world",
    icon: "settings",
    group: "Event",
    isFor: (state) => may(state, "world:update"),
    load: () => import("./world/World.svelte"),
  },
  {
    word: "program",
    label: "console.program",
    icon: "calendar",
    group: "Event",
    // `program.update` has no word of its own: without a rule, it is `room.update`.
    isFor: (state) =>
      may(state, "world:api") && (may(state, "world:update") || mayAnywhere(state, "room:update")),
    load: () => import("./program/Program.svelte"),
  },
  {
    word: "rooms",
    label: "console.rooms",
    icon: "stage",
    group: "Event",
    isFor: (state) =>
      mayAnywhere(state, "room:update", "room:delete") || may(state, "world:rooms.create.stage"),
    load: () => import("./rooms/Rooms.svelte"),
  },
  {
    word: "invite",
    label: "console.invite",
    icon: "link",
    group: "People",
    isFor: hasKeys,
    load: () => import("./invite/Invite.svelte"),
  },
  {
    word: "roles",
    label: "console.roles",
    icon: "lock",
    group: "People",
    isFor: (state) => may(state, "world:update"),
    load: () => import("./roles/Roles.svelte"),
  },
  {
    word: "people",
    label: "console.people",
    icon: "people",
    group: "People",
    isFor: (state) => may(state, "world:users.list") || may(state, "world:users.manage"),
    load: () => import("./people/People.svelte"),
  },
  {
    word: "announcements",
    label: "console.announcements",
    icon: "megaphone",
    group: "People",
    isFor: (state) => may(state, "world:announce"),
    load: () => import("./announcements/Announcements.svelte"),
  },
  {
    word: "results",
    label: "console.results",
    icon: "poll",
    group: "Afterwards",
    isFor: hasFeed,
    load: () => import("./results/Results.svelte"),
  },
  {
    word: "activity",
    label: "console.activity",
    icon: "activity",
    group: "Afterwards",
    isFor: (state) => may(state, "world:update") && may(state, "world:api"),
    load: () => import("./activity/Activity.svelte"),
  },
  {
    word: "history",
    label: "console.history",
    icon: "clock",
    group: "Afterwards",
    isFor: hasFeed,
    load: () => import("./history/History.svelte"),
  },
  {
    word: "keys",
    label: "console.keys",
    icon: "key",
    group: "Advanced",
    isFor: hasKeys,
    load: () => import("./keys/Keys.svelte"),
  },
  {
    word: "webhooks",
    label: "console.webhooks",
    icon: "hook",
    group: "Advanced",
    isFor: (state) => hasFeed(state) && may(state, "world:update"),
    load: () => import("./webhooks/Webhooks.svelte"),
  },
  {
    word: "providers",
    label: "console.providers",
    icon: "person",
    group: "Advanced",
    isFor: (state) => hasKeys(state) && may(state, "world:update"),
    load: () => import("./providers/Providers.svelte"),
  },
  {
    word: "json",
    label: "console.jsonPage",
    icon: "code",
    group: "Advanced",
    isFor: (state) => hasKeys(state) && may(state, "world:update"),
    load: () => import("./json/Json.svelte"),
  },
];
