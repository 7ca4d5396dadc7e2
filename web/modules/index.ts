import type { Component } from "svelte";
import type { SentRoom } from "../../client/index.js";
import type { IconName } from "../components/Icon.svelte";
import type { RoomModule } from "../lib/rights.js";

// A module type is a folder here, with a module.ts that describes it. To add one, add a
// folder: nothing else names it.

/** The properties of a module's view. Another room gets a new instance. */
export interface ViewProps {
  room: SentRoom;
  module: RoomModule;
}

/** The properties of a module's form: its configuration, which it binds and changes. */
export interface FormProps {
  config: Record<string, unknown>;
  /** Puts a module of another kind in its place. */
  onreplace?: (module: { type: string; config: object }) => void;
}

/** A kind of module. */
export interface ModuleKind {
  /** The `type` of such a module. */
  readonly type: string;
  /** Large, at the top of the room; or beside it, in a tab. */
  readonly place: "stage" | "panel";
  /** The order of tabs, and of the types in a list. */
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

const found = import.meta.glob<{ kind: ModuleKind }>("./*/module.ts", { eager: true });

const all = Object.values(found)
  .map(({ kind }) => kind)
  .sort((a, b) => a.order - b.order);

/** All kinds of modules that a room may have, as far as these pages know, in their order. */
export const kinds: readonly ModuleKind[] = all.filter(({ isOwn }) => !isOwn);

/** The kind of a part of a room; undefined for one that these pages do not know. */
export const kindOf = (type: string): ModuleKind | undefined =>
  all.find((kind) => kind.type === type);
