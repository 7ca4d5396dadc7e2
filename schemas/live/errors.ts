// The websocket's error codes, and the frames to which the server may respond with each code. Each
// command declares its own codes.

/** All error codes with their causes, except the codes for unknown commands. */
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
  "auth.approval":
    "The guest waits until a moderator admits them. Log in again after a few seconds.",
  "auth.network_banned": "New guests from this network are kept out after a ban.",
  "auth.timeout": "The connection did not log in in time. The server closes it with 1008.",
  "connection.replaced":
    "The user opened more connections than the world allows; the oldest are closed.",
  "server.unavailable":
    "The server is busy, has no space, or cannot reach its database. Try again later.",
  "server.doubtful": "The server may or may not have executed it. Check before you repeat it.",
  "server.too_large": "The response would be too large. Request less, for example with a search.",
  "server.fatal":
    "The server failed; its log says why. The server closes the connection with 1011.",
  "user.not_found": "There is no such user.",
  "user.ban.self": "The user is the caller.",
  "user.silence.self": "The user is the caller.",
  "user.reactivate.self": "The user is the caller.",
  "user.delete.self": "The user is the caller.",
  "user.block.self": "The user is the caller.",
  "user.block.limit": "The caller already blocks a thousand users.",
  "user.unblock.self": "The user is the caller.",
  "profile.name_taken": "The name looks like that of a member of the team.",
  "config.invalid": "The world or the room cannot have these settings; details says which.",
  "config.changed": "Another user has changed the settings since.",
  "room.unknown": "There is no such room in this world.",
  "room.unknown_reaction": "There is no such reaction.",
  "room.unknown_schedule_data": "The schedule data has an unknown format.",
  "room.invalid.denied": "Rooms with these modules require another permission.",
  "room.invalid.name_taken": "The world already has a room with this name, ignoring case.",
  "room.invalid.invalid": "Rooms with these modules cannot be created.",
  "announcement.unknown": "There is no such announcement.",
  "chat.unknown": "The payload names no channel.",
  "chat.unknown_event": "The channel has no such event.",
  "chat.denied":
    "The caller is not a member, is blocked or silenced, or may not change this message.",
  "chat.empty": "The message has no text, or no files.",
  "chat.unsupported_event_type": "Clients cannot send events of this type.",
  "chat.unsupported_content_type": "The channel does not accept content of this type.",
  "chat.invalid_body": "The id of the event is missing.",
  "chat.slow_mode": "The room is in slow mode; retry_after says how many seconds are left.",
  "chat.blocked_word": "The text has a word that may not be used in this event.",
  "chat.reaction_limit": "The event already has a thousand reactions.",
  "channel.join.missing_profile": "The caller's profile needs a display name.",
  "emoji.sadpanda": "The reaction is not one emoji.",
  "question.unknown": "There is no such question in this room.",
  "question.inactive": "The room does not accept questions at the moment.",
  "question.named": "The room shows who asks, but the question was sent with named: false.",
  "poll.unknown": "There is no such poll in this room.",
  "poll.inactive": "The room does not accept polls at the moment.",
  "report.unknown":
    "There is no such thing or report, or it is hidden from the caller, or their own.",
  "program.unknown": "There is no such session, or the caller does not see it.",
  "program.not_on": "The session has not begun, or has long ended.",
  "program.too_many": "The caller already has a thousand favorites.",
  "session.not_rateable":
    "The session is not over, or the event does not ask people to rate sessions.",
  "poll.vote": "The poll is not open, or does not accept this vote.",
  "poll.closed": "A quiz that was closed does not open again.",
  "call.unavailable": "There is no such engine, or it did not respond; the message says which.",
  "call.missing_profile": "The caller's profile needs a display name.",
  "call.full": "The call, its stage or its list of hands is full.",
  "call.unknown": "The room has no such module, or there is no such call.",
  "call.not_on_stage": "This person is not on the stage.",
  "bbb.join.missing_profile": "The caller's profile needs a display name.",
  "bbb.failed": "BigBlueButton refused the request.",
} as const;
export type LiveErrorCode = keyof typeof liveErrors;

/** The modules with an error code `<module>.unsupported_command` for unknown commands. */
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
  "guest",
  "report",
] as const;

/** The errors that every command may return. */
export const commonErrors = [
  "protocol.unauthenticated",
  "protocol.invalid_payload",
  "protocol.rate_limited",
  "auth.denied",
  "server.unavailable",
  "server.doubtful",
] as const satisfies readonly LiveErrorCode[];

/** The errors that `authenticate` may return. */
export const loginErrors = [
  "auth.missing_id_or_token",
  "auth.invalid_token",
  "auth.expired_token",
  "auth.missing_token",
  "auth.too_many_guests",
  "auth.approval",
  "auth.network_banned",
  "auth.denied",
  "profile.name_taken",
  "chat.blocked_word",
  "protocol.invalid_payload",
  "protocol.rate_limited",
  "protocol.unknown_command",
  "server.unavailable",
] as const satisfies readonly LiveErrorCode[];

/** The errors sent in response to a frame that is not a command. */
export const nonCommandErrors = [
  "protocol.invalid_message",
  "protocol.unauthenticated",
  "protocol.unknown_command",
  "protocol.rate_limited",
  "auth.denied",
  "server.unavailable",
] as const satisfies readonly LiveErrorCode[];

/** The errors that the server sends unprompted. */
export const unsolicitedErrors = [
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
