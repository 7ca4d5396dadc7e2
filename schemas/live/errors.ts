// Why the websocket refuses something: every code, and which frames may get which. Each
// command declares its own.

/** Every code that is not of an unknown command, with when it comes. */
export const liveErrors = {
  "world.unknown_world": "The path names no world. The server closes the connection with 1000.",
  "protocol.invalid_message":
    "The frame is binary, is not JSON, or is not an array that begins with a name.",
  "protocol.unauthenticated": "The connection has not logged in.",
  "protocol.unknown_command": "There is no such command, or the connection has logged in already.",
  "protocol.invalid_payload": "The payload does not match its schema; details says where.",
  "protocol.rate_limited": "Too many commands. This one was not executed.",
  "protocol.denied": "A permission on the room is missing.",
  "auth.denied": "A permission on the world is missing, or the user is banned, silenced or erased.",
  "auth.missing_id_or_token":
    "The login has neither token nor client_id, or the uid of its token is empty.",
  "auth.invalid_token":
    "The token is malformed, no key of the world signed it, or it is not valid here.",
  "auth.expired_token": "The token is no longer valid.",
  "auth.missing_token": "The world admits no guests.",
  "auth.too_many_guests": "Too many new guests came from this address. Try again in a minute.",
  "auth.timeout": "The connection did not log in in time. The server closes it with 1008.",
  "connection.replaced":
    "The user opened more connections than the world allows; the oldest are closed.",
  "server.unavailable":
    "The server is busy, has no space, or cannot reach its database. Try again later.",
  "server.doubtful": "The server may or may not have executed it. Look before you repeat it.",
  "server.too_large": "The answer would be too large. Ask for less, for example by a search.",
  "server.fatal":
    "The server failed; its log says why. The server closes the connection with 1011.",
  "user.not_found": "There is no such user.",
  "user.ban.self": "The user is the caller.",
  "user.silence.self": "The user is the caller.",
  "user.reactivate.self": "The user is the caller.",
  "user.delete.self": "The user is the caller.",
  "user.block.self": "The user is the caller.",
  "user.block.limit": "The caller blocks a thousand users, and may not block more.",
  "user.unblock.self": "The user is the caller.",
  "config.invalid": "The world or the room cannot have these settings; details says which.",
  "config.changed": "The settings are no longer the expected ones: another user changed them.",
  "room.unknown": "There is no such room in this world.",
  "room.unknown_reaction": "There is no such reaction.",
  "room.unknown_schedule_data": "What the room shows has an unknown form.",
  "room.invalid.denied": "Rooms with these modules need another permission.",
  "room.invalid.name_taken": "The world has a room of this name, in some case.",
  "room.invalid.invalid": "Rooms with these modules cannot be created.",
  "announcement.unknown": "There is no such announcement.",
  "chat.unknown": "The payload names no channel.",
  "chat.unknown_event": "The channel has no such event.",
  "chat.denied": "The caller is no member, is blocked or silenced, or may not change this message.",
  "chat.empty": "The message has no text, or no files.",
  "chat.unsupported_event_type": "Clients cannot send events of this type.",
  "chat.unsupported_content_type": "The channel takes no content of this type.",
  "chat.invalid_body": "The id of the event is missing.",
  "chat.reaction_limit": "The event has a thousand reactions already.",
  "channel.join.missing_profile": "The caller needs a display name in the profile.",
  "emoji.sadpanda": "The reaction is not one emoji.",
  "question.unknown": "There is no such question in this room.",
  "question.inactive": "The room does not take questions at the moment.",
  "question.named": "The room shows who asked by now, and the caller was to stay unnamed.",
  "poll.unknown": "There is no such poll in this room.",
  "poll.inactive": "The room does not take polls at the moment.",
  "program.unknown": "There is no such session, or the caller does not see it.",
  "program.too_many": "The caller has a thousand favorites already.",
  "poll.vote": "The poll is not open, or takes only one option.",
} as const;
export type LiveErrorCode = keyof typeof liveErrors;

/** The modules whose unknown commands are `<module>.unsupported_command`. */
export const liveModules = [
  "user",
  "chat",
  "room",
  "world",
  "question",
  "poll",
  "announcement",
  "program",
  "exhibition",
] as const;

/** The errors of any command. */
export const commonErrors = [
  "protocol.unauthenticated",
  "protocol.invalid_payload",
  "protocol.rate_limited",
  "auth.denied",
  "server.unavailable",
  "server.doubtful",
] as const satisfies readonly LiveErrorCode[];

/** The errors of `authenticate`. */
export const loginErrors = [
  "auth.missing_id_or_token",
  "auth.invalid_token",
  "auth.expired_token",
  "auth.missing_token",
  "auth.too_many_guests",
  "auth.denied",
  "protocol.invalid_payload",
  "protocol.rate_limited",
  "protocol.unknown_command",
  "server.unavailable",
] as const satisfies readonly LiveErrorCode[];

/** The errors that answer a frame that is no command. */
export const strangeErrors = [
  "protocol.invalid_message",
  "protocol.unauthenticated",
  "protocol.unknown_command",
  "protocol.rate_limited",
  "auth.denied",
  "server.unavailable",
] as const satisfies readonly LiveErrorCode[];

/** The errors that answer nothing. */
export const unaskedErrors = [
  "world.unknown_world",
  "protocol.invalid_message",
  "auth.timeout",
  "auth.expired_token",
  "auth.invalid_token",
  "auth.denied",
  "connection.replaced",
  "server.unavailable",
  "server.fatal",
] as const satisfies readonly LiveErrorCode[];

export const onUser = ["user.not_found"] as const;
export const onRoom = ["room.unknown", "protocol.denied"] as const;
export const onChannel = ["chat.unknown", "room.unknown", "chat.denied"] as const;
