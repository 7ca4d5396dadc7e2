/** Where a call is: in a room, or in a direct channel. */
export type CallPlace = { readonly room: string } | { readonly channel: string };

/** Returns the id of the channel of a call. */
export const channelOf = (place: CallPlace): string =>
  "room" in place ? place.room : place.channel;
