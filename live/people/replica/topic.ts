import type { Shape } from "../../../schemas/plain/shapes.js";
import type { Gone } from "./copies.js";

/** The scope that every process follows. */
export const EVERYWHERE = "";

/** An item of another process. */
export interface ForeignItem {
  readonly process: string;
  readonly scope: string;
  readonly key: string;
}

/** A kind of shared state under one name. The functions may not throw. */
export interface TopicParts<V> {
  /** Without spaces. */
  readonly name: string;
  /** After how many milliseconds changes are published, together. */
  readonly delay: number;
  /** Whether something that another process sent is a value. */
  readonly isValue: Shape;
  /** Another process put an item. It is called once for each change that is heard of. */
  put(item: ForeignItem, value: V): void;
  gone(item: ForeignItem, why: Gone): void;
}

/** Changes the items of this process under one name. */
export interface Topic<V> {
  /** @param delay in milliseconds, by default the topic's. */
  put(scope: string, key: string, value: V, delay?: number): void;
  delete(scope: string, key: string): void;
  has(scope: string, key: string): boolean;
}
