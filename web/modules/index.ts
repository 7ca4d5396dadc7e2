import type { Component } from "svelte";
import type { SentRoom } from "../../client/index.js";
import type { IconName } from "../components/Icon.svelte";
import { t } from "../i18n/index.js";
import { may, type RoomModule } from "../lib/rights.js";
import type { FormProps, ViewProps } from "../state/rooms.js";

// To add a kind of module, add it to the list below, and its settings to Form.svelte.

/** A kind of module. */
export interface ModuleKind {
  /** The `type` of such a module. */
  readonly type: string;
  /** Large, at the top of the room; or beside it, in a tab. */
  readonly place: "stage" | "panel";
  /** The order of tabs. */
  readonly order: number;
  readonly icon: IconName;
  /** Its name, in the language of the page. */
  readonly label: () => string;
  /** A part of each room, which no host adds. */
  readonly isOwn?: true;
  /** Whether there is something to show; always by default. */
  readonly isShown?: (room: SentRoom, module: RoomModule) => boolean;
  readonly view: () => Promise<{ default: Component<ViewProps> }>;
  /** The form of its configuration in the console; JSON without one. */
  readonly form?: () => Promise<{ default: Component<FormProps> }>;
  /** The configuration of a new one. */
  readonly fresh: () => Record<string, unknown>;
}

const loadForm = () => import("./Form.svelte");

/** In the order in which the console offers them. */
const all: readonly ModuleKind[] = [
  {
    type: "chat.native",
    place: "panel",
    order: 10,
    icon: "chat",
    label: () => t("chat.title"),
    isShown: (room) => may(room, "room:chat.read"),
    view: () => import("./chat.native/View.svelte"),
    form: loadForm,
    fresh: () => ({ volatile: false }),
  },
  {
    type: "livestream.native",
    place: "stage",
    order: 10,
    icon: "stage",
    label: () => t("stage.livestream"),
    view: () => import("./livestream.native/View.svelte"),
    form: () => import("./livestream.native/Form.svelte"),
    fresh: () => ({ hls_url: "" }),
  },
  {
    type: "livestream.youtube",
    place: "stage",
    order: 20,
    icon: "stage",
    label: () => t("stage.youtube"),
    view: () => import("./livestream.youtube/View.svelte"),
    form: loadForm,
    fresh: () => ({ ytid: "" }),
  },
  {
    type: "question",
    place: "panel",
    order: 20,
    icon: "question",
    label: () => t("questions.title"),
    isShown: (room, { config }) => config["active"] === true && may(room, "room:question.read"),
    view: () => import("./question/View.svelte"),
    form: loadForm,
    fresh: () => ({ active: true, requires_moderation: true }),
  },
  {
    type: "livestream.iframe",
    place: "stage",
    order: 30,
    icon: "stage",
    label: () => t("stage.streamFrame"),
    view: () => import("./iframe/View.svelte"),
    form: loadForm,
    fresh: () => ({ url: "" }),
  },
  {
    type: "poll",
    place: "panel",
    order: 30,
    icon: "poll",
    label: () => t("polls.title"),
    isShown: (room, { config }) => config["active"] === true && may(room, "room:poll.read"),
    view: () => import("./poll/View.svelte"),
    form: loadForm,
    fresh: () => ({ active: true }),
  },
  {
    type: "page.markdown",
    place: "stage",
    order: 40,
    icon: "page",
    label: () => t("stage.text"),
    view: () => import("./page/View.svelte"),
    form: loadForm,
    fresh: () => ({ content: "" }),
  },
  {
    type: "page.static",
    place: "stage",
    order: 50,
    icon: "page",
    label: () => t("stage.html"),
    view: () => import("./page/View.svelte"),
    form: loadForm,
    fresh: () => ({ content: "" }),
  },
  {
    type: "page.iframe",
    place: "stage",
    order: 60,
    icon: "external",
    label: () => t("stage.pageFrame"),
    view: () => import("./iframe/View.svelte"),
    form: loadForm,
    fresh: () => ({ url: "" }),
  },
  {
    type: "people",
    place: "panel",
    order: 90,
    icon: "people",
    isOwn: true,
    label: () => t("stage.people"),
    isShown: (room) => may(room, "room:viewers"),
    view: () => import("./people/View.svelte"),
    fresh: () => ({}),
  },
];

/** The kinds of modules that hosts may add to a room. */
export const kinds: readonly ModuleKind[] = all.filter(({ isOwn }) => !isOwn);

/** The kind of a part of a room; undefined for one that these pages do not know. */
export const kindOf = (type: string): ModuleKind | undefined =>
  all.find((kind) => kind.type === type);
