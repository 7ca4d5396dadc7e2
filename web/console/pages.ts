import type { Component } from "svelte";
import type { LiveState } from "../../client/index.js";
import type { IconName } from "../components/Icon.svelte";
import { type Key, withConsoleWords, withLateWords } from "../i18n/index.js";
import { hasConsole, may, mayAnywhere } from "../lib/rights.js";
import { seesReports } from "../state/reports.js";
import Overview from "./overview/Overview.svelte";

/** The menu's groups, in order. */
export const groups = ["Event", "People", "Afterwards", "Advanced"] as const;
export type Group = (typeof groups)[number];

/** A page of the console. It renders its own `<h1>`. */
export interface ConsolePage {
  /** The first part of the page's address, after `#/`. */
  readonly word: string;
  readonly label: Key;
  readonly icon: IconName;
  /** Undefined for a page that the menu shows apart. */
  readonly group?: Group;
  /** Whether a user may open the page. */
  readonly isFor: (state: LiveState) => boolean;
  readonly load: () => Promise<{ default: Component }>;
  /** The guide that explains the page, and its section. */
  readonly guide: string;
}

/** Whether a user may use a world's HTTP API, including its keys. */
export const hasKeys = (state: LiveState) => may(state, "world:api") && may(state, "world:secrets");

/** Whether a user may read the results and the history. */
const hasFeed = (state: LiveState) => may(state, "world:api") && may(state, "world:feed");

/** All pages, in navigation order. */
export const pages: readonly ConsolePage[] = [
  {
    word: "overview",
    guide: "host",
    label: "console.overview",
    icon: "info",
    group: "Event",
    isFor: (state) => may(state, "world:update"),
    // Bundled with the console, because it is the first page that people open.
    load: async () => ({ default: Overview }),
  },
  {
    word: "world",
    guide: "web#brand",
    label: "console.world",
    icon: "settings",
    group: "Event",
    isFor: (state) => may(state, "world:update"),
    load: () => withConsoleWords(["world", "mail"], import("./world/World.svelte")),
  },
  {
    word: "program",
    guide: "web#the-program",
    label: "console.program",
    icon: "calendar",
    group: "Event",
    // Clients receive no permission string for `program.update`. Without a rule of its own, this
    // key follows `room.update`.
    isFor: (state) =>
      may(state, "world:api") && (may(state, "world:update") || mayAnywhere(state, "room:update")),
    load: () =>
      withConsoleWords(["program", "people", "rooms"], import("./program/Program.svelte")),
  },
  {
    word: "rooms",
    guide: "host#3-build-the-rooms",
    label: "console.rooms",
    icon: "stage",
    group: "Event",
    isFor: (state) =>
      mayAnywhere(state, "room:update", "room:delete") || may(state, "world:rooms.create.stage"),
    load: () => withConsoleWords(["rooms", "world"], import("./rooms/Rooms.svelte")),
  },
  {
    word: "invite",
    guide: "web#invite",
    label: "console.invite",
    icon: "link",
    group: "People",
    isFor: (state) => may(state, "world:api") && may(state, "world:users.invite"),
    load: () => withConsoleWords(["invite", "people"], import("./invite/Invite.svelte")),
  },
  {
    word: "roles",
    guide: "web#roles",
    label: "console.roles",
    icon: "lock",
    group: "People",
    isFor: (state) => may(state, "world:update"),
    load: () => withConsoleWords(["rooms", "world"], import("./roles/Roles.svelte")),
  },
  {
    word: "people",
    guide: "web#moderate",
    label: "console.people",
    icon: "people",
    group: "People",
    isFor: (state) => may(state, "world:users.list") || may(state, "world:users.manage"),
    load: () => withConsoleWords(["people", "world", "program"], import("./people/People.svelte")),
  },
  {
    word: "reports",
    guide: "web#moderate",
    label: "console.reports",
    icon: "flag",
    group: "People",
    isFor: seesReports,
    load: () => withConsoleWords(["reports"], withLateWords(import("./reports/Reports.svelte"))),
  },
  {
    word: "mail",
    guide: "web#invite",
    label: "console.mail",
    icon: "mail",
    group: "People",
    isFor: (state) => hasKeys(state) && may(state, "world:update"),
    load: () => withConsoleWords(["mail", "world"], import("./mail/Mail.svelte")),
  },
  {
    word: "announcements",
    guide: "web#notifications",
    label: "console.announcements",
    icon: "megaphone",
    group: "People",
    isFor: (state) => may(state, "world:announce"),
    load: () => withConsoleWords(["announcements"], import("./announcements/Announcements.svelte")),
  },
  {
    word: "results",
    guide: "web#afterwards",
    label: "console.results",
    icon: "poll",
    group: "Afterwards",
    isFor: hasFeed,
    load: () => withConsoleWords(["results", "activity"], import("./results/Results.svelte")),
  },
  {
    word: "activity",
    guide: "web#afterwards",
    label: "console.activity",
    icon: "activity",
    group: "Event",
    isFor: (state) => may(state, "world:update") && may(state, "world:api"),
    load: () => withConsoleWords(["activity"], import("./activity/Activity.svelte")),
  },
  {
    word: "history",
    guide: "integrate#the-audit",
    label: "console.history",
    icon: "clock",
    group: "Afterwards",
    isFor: hasFeed,
    load: () =>
      withConsoleWords(
        [
          "history",
          "people",
          "mail",
          "world",
          "program",
          "results",
          "reports",
          "rooms",
          "announcements",
          "webhooks",
        ],
        import("./history/History.svelte"),
      ),
  },
  {
    word: "keys",
    guide: "integrate#tokens-of-your-own-login",
    label: "console.keys",
    icon: "key",
    group: "Advanced",
    isFor: hasKeys,
    load: () => withConsoleWords(["world"], import("./keys/Keys.svelte")),
  },
  {
    word: "webhooks",
    guide: "integrate#webhooks",
    label: "console.webhooks",
    icon: "hook",
    group: "Advanced",
    isFor: (state) => hasFeed(state) && may(state, "world:update"),
    load: () => withConsoleWords(["webhooks", "history"], import("./webhooks/Webhooks.svelte")),
  },
  {
    word: "providers",
    guide: "integrate#sign-in-with-openid-connect",
    label: "console.providers",
    icon: "person",
    group: "Advanced",
    isFor: (state) => hasKeys(state) && may(state, "world:update"),
    load: () => withConsoleWords(["providers"], import("./providers/Providers.svelte")),
  },
  {
    word: "json",
    guide: "configure",
    label: "console.jsonPage",
    icon: "code",
    group: "Advanced",
    isFor: (state) => hasKeys(state) && may(state, "world:update"),
    load: () => withConsoleWords(["world"], import("./json/Json.svelte")),
  },
  {
    word: "account",
    guide: "web#come-back",
    label: "console.account",
    icon: "lock",
    isFor: hasConsole,
    load: () => withLateWords(import("./account/Account.svelte")),
  },
];
