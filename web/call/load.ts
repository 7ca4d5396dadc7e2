import type { Component } from "svelte";
import { withLateWords } from "../i18n/index.js";
import type * as Parts from "./parts.js";

type Parts = typeof Parts;

/** Loads a component of the call pages. They form one chunk, which is loaded only for calls. */
export async function callPart<N extends keyof Parts>(name: N): Promise<{ default: Parts[N] }> {
  const parts = await withLateWords(import("./parts.js"));
  return { default: parts[name] };
}

/** The component's props. */
export type PropsOf<N extends keyof Parts> =
  Parts[N] extends Component<infer Props> ? Props : never;
