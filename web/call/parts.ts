// Everything that shows a call, in one file; see load.ts.

export { default as Asked } from "./Asked.svelte";
export { default as Check } from "./Check.svelte";
export { default as DirectCall } from "./DirectCall.svelte";
export { default as Hands } from "./Hands.svelte";
export { default as Meeting } from "./Meeting.svelte";
export { default as RoomCall } from "./RoomCall.svelte";
export { default as ScreenCall } from "./ScreenCall.svelte";
export { default as SmallCall } from "./SmallCall.svelte";
