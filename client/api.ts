export interface paths {
  "/api/v1/setup": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Set up the first event of a server
     * @description Takes the secret of the link that `foyer serve` prints while the server has no world. The link works once, for an hour.
     */
    post: operations["setUp"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/healthz": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Whether requests should be sent here
     * @description It asks nothing of the database. While the server stops, it is a 503, and `status` is `stopping`.
     */
    get: operations["getHealth"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/readyz": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Whether the database answers, for load balancers
     * @description A 503 while the database does not answer.
     */
    get: operations["getReadiness"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a world, with its keys
     * @description With its keys and other secrets, so it asks for `world.secrets`. Its `ETag` names the state for `If-Match`.
     */
    get: operations["getWorld"];
    put?: never;
    post?: never;
    /**
     * Delete a world with all that it holds
     * @description This cannot be undone. A body, if there is one, is JSON and is ignored.
     */
    delete: operations["deleteWorld"];
    options?: never;
    head?: never;
    /**
     * Replace fields of a world
     * @description A config without JWT_secrets keeps the present keys; with it, they are replaced at once. JWT_issuers and oidc do the same.
     */
    patch: operations["updateWorld"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/schedule_update": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Say that the schedule in pretalx has changed
     * @description For the plugin of pretalx, as Venueless takes it: clients get `world.schedule.updated`, and `config.pretalx` says that it is connected, and since when. Another place than that of `config.pretalx` is a 401 with a text.
     */
    post: operations["updateSchedule"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/rooms": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the rooms that the caller may see
     * @description Only rooms that the caller may see are listed and counted.
     */
    get: operations["listRooms"];
    put?: never;
    /**
     * Make a room
     * @description A room without a domain of its own has the domain of the world.
     */
    post: operations["createRoom"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/rooms/{room_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a room
     * @description A room that the caller may not see is a 403, as one that does not exist.
     */
    get: operations["getRoom"];
    put?: never;
    post?: never;
    /**
     * Delete a room
     * @description A body, if there is one, is JSON and is ignored.
     */
    delete: operations["deleteRoom"];
    options?: never;
    head?: never;
    /**
     * Replace fields of a room
     * @description Each field that is sent replaces the present value as a whole; others stay.
     */
    patch: operations["updateRoom"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/program": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the whole program
     * @description As Foyer's own JSON, as the schedule.json of pretalx, or as a calendar.
     */
    get: operations["getProgram"];
    /**
     * Make the program agree with a document
     * @description The content tells the formats apart; a table must have the type text/csv. All or nothing: a document that cannot be read changes nothing.
     */
    put: operations["importProgram"];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/sessions": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the sessions that the caller may see
     * @description Drafts, and sessions in rooms that the caller may not see, are listed for callers with `program.update` only, as far as they may see the room.
     */
    get: operations["listSessions"];
    put?: never;
    /**
     * Make a session
     * @description Refused, as no schema can say: a room, a speaker or an `import_id` that the world lacks or has already, an address that no parser of URLs takes, times that are on no calendar, in the wrong order or more than 31 days apart.
     */
    post: operations["createSession"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/sessions/{session_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a session
     * @description A session that the caller may not see is a 403, as one that does not exist.
     */
    get: operations["getSession"];
    put?: never;
    post?: never;
    /**
     * Delete a session
     * @description A body, if there is one, is JSON and is ignored.
     */
    delete: operations["deleteSession"];
    options?: never;
    head?: never;
    /**
     * Replace fields of a session
     * @description Each field that is sent replaces the present value. The session that results obeys the rules of a new one: it has both times or none.
     */
    patch: operations["updateSession"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/speakers": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the speakers that the caller may see
     * @description Callers without `program.update` see the speakers of the sessions that they see.
     */
    get: operations["listSpeakers"];
    put?: never;
    /**
     * Make a speaker
     * @description Refused, as no schema can say: a picture or a user that the world lacks, an `import_id` that it has already, and an address that no parser of URLs takes.
     */
    post: operations["createSpeaker"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/speakers/{speaker_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a speaker
     * @description A speaker that the caller may not see is a 403, as one that does not exist.
     */
    get: operations["getSpeaker"];
    put?: never;
    post?: never;
    /**
     * Delete a speaker, and take it out of its sessions
     * @description A body, if there is one, is JSON and is ignored.
     */
    delete: operations["deleteSpeaker"];
    options?: never;
    head?: never;
    /**
     * Replace fields of a speaker
     * @description Each field that is sent replaces the present value. The speaker that results obeys the rules of a new one.
     */
    patch: operations["updateSpeaker"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/users": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the users of a world, the first created first
     * @description Erased users are not in it. With `-` in front, `ordering` puts the latest first.
     */
    get: operations["listUsers"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Ban, silence or reactivate the person with a uid
     * @description The person need not have come yet: then it makes the user, so that the decision holds from the first visit on. Nobody moderates themselves, or a person with rights that they lack.
     */
    patch: operations["moderateNamedUser"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/users/{user_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a user
     * @description With what moderators decided. An erased user is a 403, as one that never was.
     */
    get: operations["getUser"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Ban, silence or reactivate a user
     * @description Nobody moderates themselves, or a person with rights that they lack.
     */
    patch: operations["moderateUser"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/delete_user": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Forget a user
     * @description Erases everything that identifies the user. The user's files stay, without an owner. Nobody erases a person with rights that they lack.
     */
    post: operations["deleteUser"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/announcements": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the announcements of a world, the oldest first
     * @description With drafts and archived ones. Attendees see announcements over the websocket.
     */
    get: operations["listAnnouncements"];
    put?: never;
    /**
     * Make an announcement
     * @description It is a draft unless its `state` says otherwise. A `show_until` that is on no calendar is refused.
     */
    post: operations["createAnnouncement"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/announcements/{announcement_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get an announcement
     * @description Its `ETag` also changes when it is shown no longer.
     */
    get: operations["getAnnouncement"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Replace fields of an announcement
     * @description A draft becomes active, and an active one archived; no state goes back.
     */
    patch: operations["updateAnnouncement"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/rooms/{room_id}/messages": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a part of the chat of a room
     * @description With `after` the oldest events after it, with `before` the newest before it, and otherwise the newest of all. Both together are refused.
     */
    get: operations["listMessages"];
    put?: never;
    /**
     * Send a message to the chat of a room
     * @description It is sent by the user of the token's `uid`, who is made if there is none yet and need not have joined the chat, and obeys all rules of `chat.send`.
     */
    post: operations["sendMessage"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/rooms/{room_id}/messages/{event_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete a message from the chat of a room
     * @description Others' messages ask for `chat.moderate`. A body, if there is one, is JSON and is ignored.
     */
    delete: operations["deleteMessage"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/rooms/{room_id}/questions": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the questions of a room, the oldest first
     * @description Callers with `question.moderate` get all questions, others those that are visible and their own.
     */
    get: operations["listQuestions"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/rooms/{room_id}/polls": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the polls of a room, the oldest first
     * @description Callers with `poll.manage` get all polls, others those that are open or closed.
     */
    get: operations["listPolls"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/tokens": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Sign a token, and make a link with it
     * @description Callers who may read the keys of the world may sign any traits. The audit has the traits and never the token.
     */
    post: operations["createToken"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/results/{kind}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get what is left of an event
     * @description People and attendance also ask for `user.list`. Rooms are left out whose chat (`chat.read`), questions (`question.moderate`) or polls (`poll.manage`) the caller may not see as a whole. JSON and CSV are sent as they are read. XLSX is at most 500,000 cells and 16 MiB of text.
     */
    get: operations["getResults"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/reports/{report}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a report
     * @description The address of `world.report.status` holds all that it needs. It is good for an hour, but not longer than the token of the person who asked for it, and as long as this person keeps the right.
     */
    get: operations["getReport"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the worlds of the server
     * @description For the operator of the server, by `ADMIN_TOKEN`.
     */
    get: operations["listWorlds"];
    put?: never;
    /**
     * Create a world
     * @description The answer has the key of the world, and a link that opens its console for 30 days.
     */
    post: operations["createWorld"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/activity": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get what goes on in a world
     * @description Counts of the present, and totals since the server started. It is cheap to ask for every few seconds.
     */
    get: operations["getActivity"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/changes": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Read what changed in a world, or follow it
     * @description With Accept: text/event-stream, the answer is a stream of server-sent events, which Last-Event-ID resumes.
     */
    get: operations["listChanges"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/audit": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List what people with rights did
     * @description What people with rights did, also by commands and calls.
     */
    get: operations["listAudit"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/webhooks": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the webhooks of a world
     * @description Without their secrets.
     */
    get: operations["listWebhooks"];
    put?: never;
    /**
     * Make a webhook
     * @description The first entry that it gets is the next one. The answer has its secret, which is shown only here.
     */
    post: operations["createWebhook"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/webhooks/{webhook_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get a webhook
     * @description With its state: what it got, and how its last delivery went. Without its secret.
     */
    get: operations["getWebhook"];
    put?: never;
    post?: never;
    /**
     * Delete a webhook
     * @description Nothing more is sent, also of what happened before. A body, if there is one, is ignored.
     */
    delete: operations["deleteWebhook"];
    options?: never;
    head?: never;
    /**
     * Replace fields of a webhook
     * @description A webhook that is enabled again goes on from its cursor if its entries are still there. An address inside the network of the server is refused.
     */
    patch: operations["updateWebhook"];
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/webhooks/{webhook_id}/test": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send a test to a webhook now
     * @description Also if it is disabled. A body, if there is one, is ignored.
     */
    post: operations["testWebhook"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/webhooks/{webhook_id}/redeliver": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Send changes again from a cursor
     * @description A cursor after the newest entry is refused, and one whose entries are gone is a 410.
     */
    post: operations["redeliverWebhook"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/files": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the files of a world, the newest first
     * @description The newest first, also files whose uploader was erased.
     */
    get: operations["listFiles"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/worlds/{world_id}/files/{file_id}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete a file
     * @description Its bytes are gone, and its url is 404. Browsers that have it may keep it for a year. A body, if there is one, is JSON and is ignored.
     */
    delete: operations["deleteFile"];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/storage/upload": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Upload a file
     * @description Without the parameter `world`, the world is the one whose domain is the host of the request.
     */
    post: operations["uploadFile"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/storage/schedule_import": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Import a program from a form
     * @description Like `PUT /api/v1/worlds/{world_id}/program/`, for clients of Venueless. The name of the file ends in json, xml, ics or csv. The answer has the address of the stored document.
     */
    post: operations["uploadProgram"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/media/pub/{world}/{name}": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get an uploaded file
     * @description Ranges, `HEAD` and conditions are supported. The address is unguessable, and needs no credentials.
     */
    get: operations["getFile"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/openapi.json": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get this document
     * @description With the routes of a program that embeds the server, if they have an `operationId`.
     */
    get: operations["getOpenapi"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "/api/v1/asyncapi.json": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Get the description of the websocket
     * @description The websocket at `/ws/world/{world_id}/`: every command, push and error. The entries of the change feed are in it, too.
     */
    get: operations["getAsyncapi"];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface webhooks {
  "world.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a world.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onWorldUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "room.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a room.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onRoomCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "room.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a room.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onRoomUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "room.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a room.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onRoomDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "rooms.reordered": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a rooms.reordered
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onRoomsReordered"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "user.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a user.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onUserCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "user.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a user.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onUserUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "user.moderated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a user.moderated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onUserModerated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "user.erased": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a user.erased
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onUserErased"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "announcement.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a announcement.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onAnnouncementCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "announcement.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a announcement.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onAnnouncementUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "file.added": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a file.added
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onFileAdded"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "file.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a file.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onFileDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "session.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a session.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onSessionCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "session.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a session.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onSessionUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "session.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a session.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onSessionDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "speaker.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a speaker.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onSpeakerCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "speaker.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a speaker.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onSpeakerUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "speaker.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a speaker.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onSpeakerDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "chat.message": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a chat.message
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onChatMessage"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "chat.edited": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a chat.edited
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onChatEdited"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "chat.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a chat.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onChatDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "chat.joined": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a chat.joined
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onChatJoined"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "chat.left": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a chat.left
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onChatLeft"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "question.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a question.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onQuestionCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "question.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a question.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onQuestionUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "question.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a question.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onQuestionDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "question.votes": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a question.votes
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onQuestionVotes"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "poll.created": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a poll.created
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onPollCreated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "poll.updated": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a poll.updated
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onPollUpdated"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "poll.deleted": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a poll.deleted
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onPollDeleted"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "poll.votes": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a poll.votes
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onPollVotes"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  "webhook.test": {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Take a webhook.test
     * @description As in the change feed. More types may come: answer 2xx to those that you don't know.
     */
    post: operations["onWebhookTest"];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export interface components {
  schemas: {
    /**
     * @description One event space.
     * @example {
     *       "id": "summit",
     *       "title": "Summit 2027",
     *       "config": {
     *         "JWT_secrets": [
     *           {
     *             "issuer": "foyer",
     *             "audience": "summit",
     *             "secret": "only-an-example-of-at-least-32-characters"
     *           }
     *         ],
     *         "theme": {
     *           "primary": "#2c3e50"
     *         }
     *       },
     *       "permission_config": {
     *         "world.api": [
     *           "admin",
     *           "api"
     *         ],
     *         "room.create": [
     *           "admin"
     *         ]
     *       },
     *       "domain": "summit.example.org"
     *     }
     */
    World: {
      id: string;
      title: string;
      config: {
        JWT_secrets: components["schemas"]["WorldKey"][];
        JWT_issuers?: components["schemas"]["TokenIssuer"][];
        oidc?: components["schemas"]["SignInProvider"][];
      } & {
        [key: string]: unknown;
      };
      permission_config: components["schemas"]["PermissionConfig"];
      /**
       * @description A host name in lower case, with an optional port.
       * @example live.example.org
       */
      domain: string;
    };
    /**
     * @description The fields of a world to replace. Unknown fields are refused.
     * @example {
     *       "title": "Summit 2027, day two"
     *     }
     */
    WorldChanges: {
      /** @description Its present value, or nothing. */
      readonly id?: string;
      title?: string;
      /** @description Without JWT_secrets, JWT_issuers or oidc, the present ones stay. */
      config?: {
        JWT_secrets?: components["schemas"]["WorldKey"][];
        JWT_issuers?: components["schemas"]["TokenIssuer"][];
        oidc?: components["schemas"]["SignInProvider"][];
        onsite_traits?: components["schemas"]["Rule"];
        event?: {
          /** Format: date-time */
          starts_at?: string | null;
          /** Format: date-time */
          ends_at?: string | null;
          tagline?: string;
          cover?: {
            url: string;
          } | null;
          location?: string;
        };
        /** @enum {string} */
        attendance?: "numbers" | "people" | "off";
        roles?: components["schemas"]["Role"][];
      } & {
        [key: string]: unknown;
      };
      permission_config?: components["schemas"]["PermissionConfig"];
      /**
       * @description A host name in lower case, with an optional port.
       * @example live.example.org
       */
      domain?: string;
    };
    /**
     * @description The place of a schedule. Both fields must be those of `config.pretalx`; of `domain`, only the host counts.
     * @example {
     *       "domain": "https://pretalx.example.org",
     *       "event": "demo"
     *     }
     */
    ScheduleUpdate: {
      /** @description An address of pretalx. */
      domain?: string;
      /** @description The short name of the event there. */
      event?: string;
    };
    /** @description A key that signs the tokens of a world. */
    WorldKey: {
      issuer: string;
      audience: string;
      /** @description Signs tokens by HS256. At least 32 characters. */
      secret: string;
    };
    /** @description An issuer whose tokens the world accepts. Its public keys are at jwks_url or in jwks. */
    TokenIssuer: {
      issuer: string;
      audience: string;
      jwks_url?: string;
      jwks?: {
        keys: {
          [key: string]: unknown;
        }[];
      } & {
        [key: string]: unknown;
      };
      algorithms?: ("RS256" | "PS256" | "ES256" | "EdDSA")[];
      /** @description The claim with the id of the user; `sub` by default. */
      uid?: string;
      /** @description Traits that every user gets, and those that follow from a claim. Without map, the strings of the claim are traits. */
      traits?: {
        always?: string[];
        claim?: string;
        map?: {
          [key: string]: string[];
        };
      };
      /** @description Its users have their bare uid as id, as with the world's keys. By default it follows the issuer and #. */
      trusted?: boolean;
    };
    /**
     * @description A trait with a name, for the console.
     * @example {
     *       "trait": "speaker",
     *       "title": "Speaker"
     *     }
     */
    Role: {
      /**
       * @description What rules ask for; null for guests, who need no trait.
       * @example admin
       */
      trait: string | null;
      title: string;
      description?: string;
    };
    /** @description A provider of OpenID Connect by which people sign in. */
    SignInProvider: {
      id: string;
      name: string;
      issuer: string;
      client_id: string;
      client_secret?: string;
      scopes?: string[];
      /** @description The claim with the id of the user; `sub` by default. */
      uid?: string;
      /** @description Traits that every user gets, and those that follow from a claim. Without map, the strings of the claim are traits. */
      traits?: {
        always?: string[];
        claim?: string;
        map?: {
          [key: string]: string[];
        };
      };
      session_hours?: number;
    };
    /**
     * @description A place in a world.
     * @example {
     *       "id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *       "name": "Main stage",
     *       "description": "Where the *keynotes* are.",
     *       "module_config": [
     *         {
     *           "type": "chat.native",
     *           "config": {
     *             "volatile": true
     *           }
     *         }
     *       ],
     *       "permission_config": {
     *         "room.view": [
     *           [
     *             "attendee",
     *             "speaker"
     *           ]
     *         ]
     *       },
     *       "sorting_priority": 10,
     *       "domain": "summit.example.org"
     *     }
     */
    Room: {
      /** Format: uuid */
      id: string;
      name: string;
      /** @description Markdown. */
      description: string;
      module_config: components["schemas"]["Module"][];
      permission_config: components["schemas"]["PermissionConfig"];
      sorting_priority: number;
      /**
       * @description A host name in lower case, with an optional port.
       * @example live.example.org
       */
      domain: string;
    };
    /**
     * @description What a new room is made of. Unknown fields are refused.
     * @example {
     *       "name": "Main stage",
     *       "description": "Where the *keynotes* are.",
     *       "module_config": [
     *         {
     *           "type": "chat.native",
     *           "config": {
     *             "volatile": true
     *           }
     *         }
     *       ],
     *       "permission_config": {
     *         "room.view": [
     *           [
     *             "attendee",
     *             "speaker"
     *           ]
     *         ]
     *       },
     *       "sorting_priority": 10
     *     }
     */
    RoomDraft: {
      name: string;
      /** @description Markdown. */
      description?: string;
      module_config?: components["schemas"]["Module"][];
      permission_config?: components["schemas"]["PermissionConfig"];
      sorting_priority?: number;
      /**
       * @description The room's own domain. With null it has none, and shows the world's.
       * @example live.example.org
       */
      domain?: string | null;
    };
    /**
     * @description The fields of a room to replace. Unknown fields are refused. `picture`, `force_join` and `schedule_data` are not in the answer; the websocket command `room.config.get` has them.
     * @example {
     *       "name": "Hallway"
     *     }
     */
    RoomChanges: {
      /** @description Its present value, or nothing. */
      readonly id?: string;
      name?: string;
      /** @description Markdown. */
      description?: string;
      module_config?: components["schemas"]["Module"][];
      permission_config?: components["schemas"]["PermissionConfig"];
      sorting_priority?: number;
      /**
       * @description The room's own domain. With null it has none, and shows the world's.
       * @example live.example.org
       */
      domain?: string | null;
      /** @description The address of an image. */
      picture?: string | null;
      /** @description Whether everybody who enters the world joins the room. */
      force_join?: boolean;
      /** @description What the room shows at present, at most 16 KiB of JSON; null for nothing. */
      schedule_data?: {
        [key: string]: unknown;
      } | null;
    };
    /**
     * @description A page of the rooms that the caller may see.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *           "name": "Main stage",
     *           "description": "Where the *keynotes* are.",
     *           "module_config": [
     *             {
     *               "type": "chat.native",
     *               "config": {
     *                 "volatile": true
     *               }
     *             }
     *           ],
     *           "permission_config": {
     *             "room.view": [
     *               [
     *                 "attendee",
     *                 "speaker"
     *               ]
     *             ]
     *           },
     *           "sorting_priority": 10,
     *           "domain": "summit.example.org"
     *         }
     *       ]
     *     }
     */
    RoomList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Room"][];
    };
    /** @description One piece of a room's content: its type, and what that type needs. */
    Module: {
      /** @example chat.native */
      type: string;
    } & {
      [key: string]: unknown;
    };
    /**
     * @description A part of the program. Without times it is not scheduled yet. Times are in UTC.
     * @example {
     *       "id": "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
     *       "title": "Maps for everyone",
     *       "subtitle": "",
     *       "abstract": "How volunteers map *every* street.",
     *       "description": "",
     *       "room_id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *       "starts_at": "2027-03-01T09:00:00.000Z",
     *       "ends_at": "2027-03-01T09:40:00.000Z",
     *       "speaker_ids": [
     *         "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42"
     *       ],
     *       "track": "Community",
     *       "language": "en",
     *       "kind": "Talk",
     *       "tags": [
     *         "maps"
     *       ],
     *       "links": [
     *         {
     *           "title": "Slides",
     *           "url": "https://slides.example.org/maps"
     *         }
     *       ],
     *       "stream": null,
     *       "recording": null,
     *       "import_id": null,
     *       "state": "public"
     *     }
     */
    Session: {
      /** Format: uuid */
      id: string;
      title: string;
      subtitle: string;
      /** @description Markdown. */
      abstract: string;
      /** @description Markdown. */
      description: string;
      /** Format: uuid */
      room_id: string | null;
      /** Format: date-time */
      starts_at: string | null;
      /** Format: date-time */
      ends_at: string | null;
      speaker_ids: string[];
      track: string;
      language: string;
      kind: string;
      tags: string[];
      links: {
        title: string;
        url: string;
      }[];
      stream: {
        url: string;
        alternatives?: {
          label: string;
          url: string;
          language?: string;
        }[];
      } | null;
      recording: {
        url: string;
      } | null;
      import_id: string | null;
      /** @enum {string} */
      state: "public" | "draft";
    };
    /**
     * @description A new session. It has both times or none. Unknown fields are refused.
     * @example {
     *       "title": "Maps for everyone",
     *       "subtitle": "",
     *       "abstract": "How volunteers map *every* street.",
     *       "description": "",
     *       "room_id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *       "starts_at": "2027-03-01T09:00:00.000Z",
     *       "ends_at": "2027-03-01T09:40:00.000Z",
     *       "speaker_ids": [
     *         "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42"
     *       ],
     *       "track": "Community",
     *       "language": "en",
     *       "kind": "Talk",
     *       "tags": [
     *         "maps"
     *       ],
     *       "links": [
     *         {
     *           "title": "Slides",
     *           "url": "https://slides.example.org/maps"
     *         }
     *       ],
     *       "stream": null,
     *       "recording": null,
     *       "import_id": null,
     *       "state": "public"
     *     }
     */
    SessionDraft: {
      title: string;
      subtitle?: string;
      /** @description Markdown. */
      abstract?: string;
      /** @description Markdown. */
      description?: string;
      /** Format: uuid */
      room_id?: string | null;
      /** Format: date-time */
      starts_at?: string | null;
      /** Format: date-time */
      ends_at?: string | null;
      speaker_ids?: string[];
      track?: string;
      language?: string;
      kind?: string;
      tags?: string[];
      links?: {
        title: string;
        url: string;
      }[];
      stream?: {
        url: string;
        alternatives?: {
          label: string;
          url: string;
          language?: string;
        }[];
      } | null;
      recording?: {
        url: string;
      } | null;
      import_id?: string | null;
      /** @enum {string} */
      state?: "public" | "draft";
    };
    /**
     * @description The fields of a session to replace. Unknown fields are refused.
     * @example {
     *       "title": "Maps for all"
     *     }
     */
    SessionChanges: {
      /** @description Its present value, or nothing. */
      readonly id?: string;
      title?: string;
      subtitle?: string;
      /** @description Markdown. */
      abstract?: string;
      /** @description Markdown. */
      description?: string;
      /** Format: uuid */
      room_id?: string | null;
      /** Format: date-time */
      starts_at?: string | null;
      /** Format: date-time */
      ends_at?: string | null;
      speaker_ids?: string[];
      track?: string;
      language?: string;
      kind?: string;
      tags?: string[];
      links?: {
        title: string;
        url: string;
      }[];
      stream?: {
        url: string;
        alternatives?: {
          label: string;
          url: string;
          language?: string;
        }[];
      } | null;
      recording?: {
        url: string;
      } | null;
      import_id?: string | null;
      /** @enum {string} */
      state?: "public" | "draft";
    };
    /**
     * @description A page of the sessions that the caller may see, by their start; sessions without one come last.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
     *           "title": "Maps for everyone",
     *           "subtitle": "",
     *           "abstract": "How volunteers map *every* street.",
     *           "description": "",
     *           "room_id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *           "starts_at": "2027-03-01T09:00:00.000Z",
     *           "ends_at": "2027-03-01T09:40:00.000Z",
     *           "speaker_ids": [
     *             "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42"
     *           ],
     *           "track": "Community",
     *           "language": "en",
     *           "kind": "Talk",
     *           "tags": [
     *             "maps"
     *           ],
     *           "links": [
     *             {
     *               "title": "Slides",
     *               "url": "https://slides.example.org/maps"
     *             }
     *           ],
     *           "stream": null,
     *           "recording": null,
     *           "import_id": null,
     *           "state": "public"
     *         }
     *       ]
     *     }
     */
    SessionList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Session"][];
    };
    /**
     * @description A session as it was written, and what may be wrong with it.
     * @example {
     *       "id": "3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21",
     *       "title": "Maps for everyone",
     *       "subtitle": "",
     *       "abstract": "How volunteers map *every* street.",
     *       "description": "",
     *       "room_id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *       "starts_at": "2027-03-01T09:00:00.000Z",
     *       "ends_at": "2027-03-01T09:40:00.000Z",
     *       "speaker_ids": [
     *         "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42"
     *       ],
     *       "track": "Community",
     *       "language": "en",
     *       "kind": "Talk",
     *       "tags": [
     *         "maps"
     *       ],
     *       "links": [
     *         {
     *           "title": "Slides",
     *           "url": "https://slides.example.org/maps"
     *         }
     *       ],
     *       "stream": null,
     *       "recording": null,
     *       "import_id": null,
     *       "state": "public",
     *       "warnings": [
     *         {
     *           "field": "starts_at",
     *           "message": "Overlaps “Opening”.",
     *           "session_id": "b6a1c0de-72a5-4d8c-8a0b-3f2f5d7a9c10"
     *         }
     *       ]
     *     }
     */
    WrittenSession: {
      /** Format: uuid */
      id: string;
      title: string;
      subtitle: string;
      /** @description Markdown. */
      abstract: string;
      /** @description Markdown. */
      description: string;
      /** Format: uuid */
      room_id: string | null;
      /** Format: date-time */
      starts_at: string | null;
      /** Format: date-time */
      ends_at: string | null;
      speaker_ids: string[];
      track: string;
      language: string;
      kind: string;
      tags: string[];
      links: {
        title: string;
        url: string;
      }[];
      stream: {
        url: string;
        alternatives?: {
          label: string;
          url: string;
          language?: string;
        }[];
      } | null;
      recording: {
        url: string;
      } | null;
      import_id: string | null;
      /** @enum {string} */
      state: "public" | "draft";
      /** @description Other sessions in its room at the same time. */
      warnings?: {
        field: string;
        message: string;
        session_id: string;
      }[];
    };
    /**
     * @description A speaker of the program. Only sessions make a speaker visible, except to callers with program.update.
     * @example {
     *       "id": "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42",
     *       "name": "Ada Example",
     *       "biography": "Maps *cities*.",
     *       "organization": "Open Maps",
     *       "links": [],
     *       "picture": null,
     *       "user_id": null,
     *       "import_id": null
     *     }
     */
    Speaker: {
      /** Format: uuid */
      id: string;
      name: string;
      /** @description Markdown. */
      biography: string;
      organization: string;
      links: {
        title: string;
        url: string;
      }[];
      /** @description The address of an upload of this world. */
      picture: string | null;
      /**
       * Format: uuid
       * @description A user of the world, whose profile opens from the name.
       */
      user_id: string | null;
      import_id: string | null;
    };
    /**
     * @description A new speaker. Unknown fields are refused.
     * @example {
     *       "name": "Ada Example",
     *       "biography": "Maps *cities*.",
     *       "organization": "Open Maps",
     *       "links": [],
     *       "picture": null,
     *       "user_id": null,
     *       "import_id": null
     *     }
     */
    SpeakerDraft: {
      name: string;
      /** @description Markdown. */
      biography?: string;
      organization?: string;
      links?: {
        title: string;
        url: string;
      }[];
      /** @description The address of an upload of this world. */
      picture?: string | null;
      /**
       * Format: uuid
       * @description A user of the world, whose profile opens from the name.
       */
      user_id?: string | null;
      import_id?: string | null;
    };
    /**
     * @description The fields of a speaker to replace. Unknown fields are refused.
     * @example {
     *       "organization": "Maps for all"
     *     }
     */
    SpeakerChanges: {
      /** @description Its present value, or nothing. */
      readonly id?: string;
      name?: string;
      /** @description Markdown. */
      biography?: string;
      organization?: string;
      links?: {
        title: string;
        url: string;
      }[];
      /** @description The address of an upload of this world. */
      picture?: string | null;
      /**
       * Format: uuid
       * @description A user of the world, whose profile opens from the name.
       */
      user_id?: string | null;
      import_id?: string | null;
    };
    /**
     * @description A page of the speakers that the caller may see, by name.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42",
     *           "name": "Ada Example",
     *           "biography": "Maps *cities*.",
     *           "organization": "Open Maps",
     *           "links": [],
     *           "picture": null,
     *           "user_id": null,
     *           "import_id": null
     *         }
     *       ]
     *     }
     */
    SpeakerList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Speaker"][];
    };
    /**
     * @description The sessions and speakers that the caller may see.
     * @example {
     *       "sessions": [],
     *       "speakers": []
     *     }
     */
    WholeProgram: {
      sessions: components["schemas"]["Session"][];
      speakers: components["schemas"]["Speaker"][];
    };
    /**
     * @description Foyer's own form of a program, as GET answers it.
     * @example {
     *       "sessions": [
     *         {
     *           "title": "Maps for everyone"
     *         }
     *       ]
     *     }
     */
    ProgramDraft: {
      sessions?: {
        id?: string;
        title: string;
        subtitle?: string;
        /** @description Markdown. */
        abstract?: string;
        /** @description Markdown. */
        description?: string;
        room_id?: string | null;
        /** Format: date-time */
        starts_at?: string | null;
        /** Format: date-time */
        ends_at?: string | null;
        speaker_ids?: string[];
        track?: string;
        language?: string;
        kind?: string;
        tags?: string[];
        links?: {
          title: string;
          url: string;
        }[];
        stream?: {
          url: string;
          alternatives?: {
            label: string;
            url: string;
            language?: string;
          }[];
        } | null;
        recording?: {
          url: string;
        } | null;
        import_id?: string | null;
        /** @enum {string} */
        state?: "public" | "draft";
      }[];
      speakers?: {
        id?: string;
        name: string;
        /** @description Markdown. */
        biography?: string;
        organization?: string;
        links?: {
          title: string;
          url: string;
        }[];
        picture?: string | null;
        user_id?: string | null;
        import_id?: string | null;
      }[];
    };
    /** @description The schedule.json of pretalx, frab or the c3voc. */
    ScheduleDocument: {
      schedule: {
        conference: {
          days: ({
            /** Format: date */
            date?: string;
            rooms?: {
              [key: string]: ({
                guid?: string;
                title?: string;
                /** Format: date-time */
                date?: string;
                start?: string;
                duration?: string;
                persons?: {
                  [key: string]: unknown;
                }[];
              } & {
                [key: string]: unknown;
              })[];
            };
          } & {
            [key: string]: unknown;
          })[];
        } & {
          [key: string]: unknown;
        };
      } & {
        [key: string]: unknown;
      };
    } & {
      [key: string]: unknown;
    };
    /**
     * @description The sessions that an import made, changed, left and deleted, the rooms that it made, and what it left out or had to decide.
     * @example {
     *       "created": 1,
     *       "updated": 0,
     *       "unchanged": 119,
     *       "deleted": 0,
     *       "rooms_created": 0,
     *       "problems": [
     *         {
     *           "line": 12,
     *           "session": "Walk",
     *           "message": "There is no room called “Park”."
     *         }
     *       ]
     *     }
     */
    ImportedProgram: {
      created: number;
      updated: number;
      unchanged: number;
      deleted: number;
      rooms_created: number;
      problems: {
        line?: number;
        /** @description The title of the session. */
        session?: string;
        message: string;
      }[];
    };
    /**
     * @description Rules by permission key. Keys are open-ended. A key that neither room nor world has denies, except the participation keys (world.view, room.view, file.upload, chat.read, chat.join, chat.send, chat.direct, question.read, question.ask, question.vote, poll.read, poll.vote and program.read), which then let in everybody.
     * @example {
     *       "room.view": [
     *         [
     *           "attendee",
     *           "speaker"
     *         ]
     *       ]
     *     }
     */
    PermissionConfig: {
      [key: string]: components["schemas"]["Rule"];
    };
    /**
     * @description Holds when every entry holds. An entry is a trait, or a list of traits of which one is enough.
     * @example [
     *       "admin",
     *       "api"
     *     ]
     * @example [
     *       [
     *         "admin",
     *         "moderator"
     *       ]
     *     ]
     * @example []
     */
    Rule: (string | string[])[];
    /** @description A person who logged in or uploaded. */
    User: {
      /**
       * Format: uuid
       * @description The service's internal user ID.
       */
      id: string;
      /** @description The uid of its tokens; null for a guest. */
      token_id: string | null;
      /** @description As in its first token, or as changed since. */
      profile: {
        [key: string]: unknown;
      } | null;
      /** @description As in its last token. */
      traits: string[];
      /**
       * Format: date-time
       * @description When it last logged in or uploaded.
       */
      last_seen: string;
    };
    /**
     * @description A page of the users of a world.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *           "token_id": "42",
     *           "profile": {
     *             "display_name": "Ada"
     *           },
     *           "traits": [
     *             "attendee"
     *           ],
     *           "last_seen": "2027-01-31T09:30:00.000Z"
     *         }
     *       ]
     *     }
     */
    UserList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["User"][];
    };
    /**
     * @description A user, by exactly one of its names.
     * @example {
     *       "token_id": "42"
     *     }
     */
    UserName: {
      /** @description The service's internal user ID. */
      user_id?: string;
      /** @description The uid of its tokens. */
      token_id?: string;
    };
    /**
     * @description What a moderator decides about the person with a `uid`. Unknown fields are refused.
     * @example {
     *       "token_id": "order-2000",
     *       "moderation_state": "banned"
     *     }
     */
    NamedUserChanges: {
      /** @description The `uid` of the person's tokens. */
      token_id: string;
      /** @enum {string} */
      moderation_state: "none" | "silenced" | "banned";
    };
    /**
     * @description What a moderator decides about a user: `none` reactivates. Unknown fields are refused.
     * @example {
     *       "moderation_state": "silenced"
     *     }
     */
    UserChanges: {
      /** @enum {string} */
      moderation_state: "none" | "silenced" | "banned";
    };
    /** @description A user, with the decision of moderators. A banned user who is silenced stays banned. */
    ModeratedUser: {
      /**
       * Format: uuid
       * @description The service's internal user ID.
       */
      id: string;
      /** @description The uid of its tokens; null for a guest. */
      token_id: string | null;
      /** @description As in its first token, or as changed since. */
      profile: {
        [key: string]: unknown;
      } | null;
      /** @description As in its last token. */
      traits: string[];
      /**
       * Format: date-time
       * @description When it last logged in or uploaded.
       */
      last_seen: string;
      /** @enum {string} */
      moderation_state: "none" | "silenced" | "banned";
    };
    /**
     * @description An announcement to all users of a world.
     * @example {
     *       "id": "0f4a8c52-6f0e-4b57-8d15-1d1b8f6a2c11",
     *       "text": "Lunch is served.",
     *       "show_until": "2027-03-01T13:00:00.000Z",
     *       "state": "active",
     *       "is_visible": true
     *     }
     */
    Announcement: {
      id: string;
      text: string;
      /** Format: date-time */
      show_until: string | null;
      /** @enum {string} */
      state: "draft" | "active" | "archived";
      /** @description Whether it is active and show_until has not passed. */
      is_visible: boolean;
    };
    /**
     * @description What a new announcement is made of; by default it is a draft. Unknown fields are refused.
     * @example {
     *       "text": "Lunch is served.",
     *       "state": "active"
     *     }
     */
    AnnouncementDraft: {
      text: string;
      /**
       * Format: date-time
       * @description Until when it is shown, such as 2027-03-01T13:00:00Z; null for ever.
       */
      show_until?: string | null;
      /** @enum {string} */
      state?: "draft" | "active" | "archived";
    };
    /**
     * @description The fields of an announcement to replace. A draft becomes active, and an active one archived; a state that cannot follow is refused. Unknown fields are refused.
     * @example {
     *       "state": "archived"
     *     }
     */
    AnnouncementChanges: {
      /** @description Its present value, or nothing. */
      readonly id?: string;
      text?: string;
      /**
       * Format: date-time
       * @description Until when it is shown, such as 2027-03-01T13:00:00Z; null for ever.
       */
      show_until?: string | null;
      /** @enum {string} */
      state?: "draft" | "active" | "archived";
      /** @description Follows from the others, and may be sent back. */
      readonly is_visible?: boolean;
    };
    /**
     * @description A page of the announcements of a world, the oldest first.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "0f4a8c52-6f0e-4b57-8d15-1d1b8f6a2c11",
     *           "text": "Lunch is served.",
     *           "show_until": "2027-03-01T13:00:00.000Z",
     *           "state": "active",
     *           "is_visible": true
     *         }
     *       ]
     *     }
     */
    AnnouncementList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Announcement"][];
    };
    /**
     * @description A message, or another event of the chat of a room.
     * @example {
     *       "event_id": 1204,
     *       "channel": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *       "sender": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *       "timestamp": "2027-03-01T09:00:00.000Z",
     *       "event_type": "channel.message",
     *       "content": {
     *         "type": "text",
     *         "body": "Hello!"
     *       },
     *       "edited": null,
     *       "replaces": null,
     *       "reactions": {}
     *     }
     */
    Message: {
      event_id: number;
      /** @description For a room, the id of the room. */
      channel: string;
      /**
       * Format: uuid
       * @description The id of a user.
       */
      sender: string | null;
      /** Format: date-time */
      timestamp: string;
      /** @enum {string} */
      event_type: "channel.message" | "channel.member" | "channel.poll";
      /** @description Of a message: type (text, files, call or deleted), body, files, and what else was sent of reply_to, local_id, client, timestamp and preview_card. Of a member event: membership (join or leave) and user. */
      content: {
        [key: string]: unknown;
      };
      /** Format: date-time */
      edited: string | null;
      /** @description The event whose content this one replaces. */
      replaces: number | null;
      /** @description The users who reacted, by emoji. */
      reactions: {
        [key: string]: string[];
      };
    };
    /**
     * @description What a new message is made of, as in `chat.send`.
     * @example {
     *       "content": {
     *         "type": "text",
     *         "body": "Hello!"
     *       }
     *     }
     */
    MessageDraft: {
      content: ({
        /** @example text */
        type: string;
      } & {
        [key: string]: unknown;
      }) &
        (
          | {
              /** @constant */
              type: "text";
              reply_to?: unknown;
              local_id?: unknown;
              timestamp?: unknown;
              client?: unknown;
              preview_card?: unknown;
              body: string;
            }
          | {
              /** @constant */
              type: "files";
              reply_to?: unknown;
              local_id?: unknown;
              timestamp?: unknown;
              client?: unknown;
              preview_card?: unknown;
              files: {
                url: string;
                name: string;
                mimeType?: unknown;
              }[];
              body?: string | null;
            }
          | {
              /** @constant */
              type: "deleted";
              reply_to?: unknown;
              local_id?: unknown;
              timestamp?: unknown;
              client?: unknown;
              preview_card?: unknown;
            }
        );
      /** @enum {string} */
      event_type?: "channel.message";
      /** @description The id of the message that it edits. */
      replaces?: number;
    };
    /**
     * @description Some events of the chat of a room, the oldest first, and the users in them by id.
     * @example {
     *       "results": [
     *         {
     *           "event_id": 1204,
     *           "channel": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *           "sender": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *           "timestamp": "2027-03-01T09:00:00.000Z",
     *           "event_type": "channel.message",
     *           "content": {
     *             "type": "text",
     *             "body": "Hello!"
     *           },
     *           "edited": null,
     *           "replaces": null,
     *           "reactions": {},
     *           "type": "chat.event"
     *         }
     *       ],
     *       "users": {}
     *     }
     */
    MessageList: {
      results: {
        event_id: number;
        /** @description For a room, the id of the room. */
        channel: string;
        /**
         * Format: uuid
         * @description The id of a user.
         */
        sender: string | null;
        /** Format: date-time */
        timestamp: string;
        /** @enum {string} */
        event_type: "channel.message" | "channel.member" | "channel.poll";
        /** @description Of a message: type (text, files, call or deleted), body, files, and what else was sent of reply_to, local_id, client, timestamp and preview_card. Of a member event: membership (join or leave) and user. */
        content: {
          [key: string]: unknown;
        };
        /** Format: date-time */
        edited: string | null;
        /** @description The event whose content this one replaces. */
        replaces: number | null;
        /** @description The users who reacted, by emoji. */
        reactions: {
          [key: string]: string[];
        };
        /** @enum {string} */
        type: "chat.event";
      }[];
      /** @description The senders, and the users who are mentioned or reacted. */
      users: {
        [key: string]: {
          /** Format: uuid */
          id: string;
          profile: {
            [key: string]: unknown;
          };
          pretalx_id: string | null;
          deleted: boolean;
          /** @description What trait_badges_map says of the user's traits, sorted. */
          badges: string[];
          /** @description Whether the last login was more than 36 hours ago. */
          inactive: boolean;
          /** @enum {string} */
          moderation_state?: "" | "silenced" | "banned";
          token_id?: string | null;
        };
      };
    };
    /** @description A question to the speakers in a room. */
    Question: {
      /** Format: uuid */
      id: string;
      content: string;
      /** @enum {string} */
      state: "mod_queue" | "visible" | "archived";
      answered: boolean;
      /** Format: date-time */
      timestamp: string;
      /** Format: uuid */
      room_id: string;
      /** @description How many users vote for it. */
      score: number;
      /** @description At most one of a room is. */
      is_pinned: boolean;
      /**
       * Format: uuid
       * @description The user who asked, if the room had `show_authors: true` then. Else nothing says it.
       */
      sender?: string;
      /** @description Whether the caller votes for it. */
      voted: boolean;
    };
    /**
     * @description A page of the questions of a room, the oldest first: of the last 1,000 at most.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0aa",
     *           "content": "When is lunch?",
     *           "timestamp": "2027-03-01T09:00:00.000Z",
     *           "room_id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *           "is_pinned": false,
     *           "state": "visible",
     *           "answered": false,
     *           "score": 3,
     *           "voted": false
     *         }
     *       ]
     *     }
     */
    QuestionList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Question"][];
    };
    /** @description A poll in a room. */
    Poll: {
      /** Format: uuid */
      id: string;
      content: string;
      /** @enum {string} */
      state: "draft" | "open" | "closed" | "archived";
      /** Format: date-time */
      timestamp: string;
      /** Format: uuid */
      room_id: string;
      /** @enum {string} */
      poll_type?: "choice" | "multi";
      /** @description At most one of a room is. */
      is_pinned: boolean;
      /** @description By order. */
      options: {
        /** Format: uuid */
        id: string;
        content: string;
        order: number;
      }[];
      /** @description The votes by the id of the option. Left out for users who may not see them. */
      results?: {
        [key: string]: number;
      };
      /** @description The ids of the options that the caller chose. */
      answers?: string[];
    };
    /**
     * @description A page of the polls of a room, the oldest first: of the last 1,000 at most. Callers with `poll.results` get the results of all, others of polls that are over.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0ab",
     *           "content": "When is lunch?",
     *           "timestamp": "2027-03-01T09:00:00.000Z",
     *           "room_id": "5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11",
     *           "is_pinned": false,
     *           "state": "open",
     *           "options": [
     *             {
     *               "id": "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0ac",
     *               "content": "At 12",
     *               "order": 1
     *             }
     *           ],
     *           "results": {
     *             "3d7a1f9e-58c0-4f0a-9f0f-61f3b2c1d0ac": 12
     *           }
     *         }
     *       ]
     *     }
     */
    PollList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Poll"][];
    };
    /** @description The results of an event. The fields are the columns of the CSV. */
    ResultsList: {
      results: {
        [key: string]: unknown;
      }[];
    };
    /** @description A signed token, and a link with it. */
    Token: {
      /** @description A JWT. */
      token: string;
      /**
       * Format: uri
       * @description A link that signs its reader in.
       */
      url: string | null;
    };
    /**
     * @description A token to sign. Unknown fields are refused.
     * @example {
     *       "uid": "42",
     *       "traits": [
     *         "attendee"
     *       ],
     *       "expires_in": 86400,
     *       "page": "event"
     *     }
     */
    TokenDraft: {
      /** @description The user that it is for. Without it, a link is for a new user. */
      uid?: string;
      /** @description The display name that a new user begins with. */
      name?: string;
      traits: string[];
      /** @description How long it is valid: in seconds, or such as 12h. */
      expires_in: number | string;
      /**
       * @description The page that `url` opens, by default the event; null for no `url`.
       * @enum {string|null}
       */
      page?: "event" | "console" | null;
    };
    /**
     * @description The first event of a server. `starts_at` and `ends_at` come together.
     * @example {
     *       "title": "Summit",
     *       "name": "Ada",
     *       "template": "conference"
     *     }
     */
    SetupDraft: {
      title: string;
      /** @description The name of the organizer, under which they enter. */
      name: string;
      /** @enum {string} */
      template: "conference" | "webinar" | "meetup" | "workshop";
      locale?: string;
      timezone?: string;
      color?: string;
      /** Format: date-time */
      starts_at?: string;
      /** Format: date-time */
      ends_at?: string;
    };
    /** @description The event that was set up. */
    SetUp: {
      id: string;
      /** @description Of the organizer, for 30 days. */
      token: string;
      links: {
        /**
         * Format: uri
         * @description Signs the organizer in.
         */
        console: string;
        /**
         * Format: uri
         * @description The event, as everybody opens it.
         */
        event: string;
      };
    };
    /**
     * @description What a new world is made of. By default its domain is the id in front of the host of the server, and it has no rooms; a template gives it some. Unknown fields are refused.
     * @example {
     *       "id": "summit",
     *       "title": "Summit 2027",
     *       "template": "conference"
     *     }
     */
    WorldDraft: {
      id: string;
      title: string;
      /**
       * @description A host name in lower case, with an optional port.
       * @example live.example.org
       */
      domain?: string;
      /** @enum {string} */
      template?: "conference" | "webinar" | "meetup" | "workshop";
    };
    /** @description A new world with its first key, and links to its console and to the event. */
    NewWorld: {
      id: string;
      title: string;
      config: {
        JWT_secrets: components["schemas"]["WorldKey"][];
        JWT_issuers?: components["schemas"]["TokenIssuer"][];
        oidc?: components["schemas"]["SignInProvider"][];
      } & {
        [key: string]: unknown;
      };
      permission_config: components["schemas"]["PermissionConfig"];
      /**
       * @description A host name in lower case, with an optional port.
       * @example live.example.org
       */
      domain: string;
      key: components["schemas"]["WorldKey"];
      links: {
        /**
         * Format: uri
         * @description Signs its reader in as a host.
         */
        console: string;
        /**
         * Format: uri
         * @description The event, as everybody opens it.
         */
        event: string;
      };
    };
    /** @description A world in the list of the server. */
    ListedWorld: {
      id: string;
      title: string;
      /**
       * @description A host name in lower case, with an optional port.
       * @example live.example.org
       */
      domain: string;
    };
    /**
     * @description A page of the worlds of the server, by id.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "summit",
     *           "title": "Summit 2027",
     *           "domain": "summit.example.org"
     *         }
     *       ]
     *     }
     */
    WorldList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["ListedWorld"][];
    };
    /**
     * @description What goes on in a world, in all processes of the server.
     * @example {
     *       "connections": 212,
     *       "users": 198,
     *       "messages": 5120,
     *       "slow_readers": 0,
     *       "rooms": [
     *         {
     *           "id": "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10",
     *           "viewers": 180
     *         }
     *       ],
     *       "since": "2027-01-31T09:30:00.000Z"
     *     }
     */
    Activity: {
      /** @description Websockets that are logged in. */
      connections: number;
      /** @description How many users they belong to. */
      users: number;
      /** @description Chat messages that were sent, without edits. */
      messages: number;
      /** @description Websockets that were dropped because they did not read. */
      slow_readers: number;
      /** @description The rooms with an audience that the caller may see, the largest first. */
      rooms: {
        /** Format: uuid */
        id: string;
        /** @description How many users are in it. */
        viewers: number;
      }[];
      /**
       * Format: date-time
       * @description When messages and slow_readers were 0.
       */
      since: string;
    };
    /** @description Who acted: a user (a websocket or an upload), a call of this API, a command, or the server. Null where an entry stands for many, such as votes. */
    FeedAuthor: {
      /** @enum {string} */
      kind: "user" | "api" | "command" | "server";
      /** @description Of a user, or of a call whose token names a user. */
      user_id?: string | null;
      /** @description The uid of the tokens of that user; null once it is erased. */
      token_id?: string | null;
    } | null;
    /** @description What world.updated is about. */
    WorldUpdatedData: {
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What room.created is about. */
    RoomCreatedData: {
      /** Format: uuid */
      room_id: string;
    };
    /** @description What room.updated is about. */
    RoomUpdatedData: {
      /** Format: uuid */
      room_id: string;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What room.deleted is about. */
    RoomDeletedData: {
      /** Format: uuid */
      room_id: string;
    };
    /** @description What rooms.reordered is about. */
    RoomsReorderedData: Record<string, never>;
    /** @description What user.created is about. */
    UserCreatedData: {
      /** Format: uuid */
      user_id: string;
    };
    /** @description What user.updated is about. */
    UserUpdatedData: {
      /** Format: uuid */
      user_id: string;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What user.moderated is about. */
    UserModeratedData: {
      /** Format: uuid */
      user_id: string;
      /** @enum {string} */
      state: "none" | "silenced" | "banned";
    };
    /** @description What user.erased is about. */
    UserErasedData: {
      /** Format: uuid */
      user_id: string;
    };
    /** @description What announcement.created is about. */
    AnnouncementCreatedData: {
      /** Format: uuid */
      announcement_id: string;
    };
    /** @description What announcement.updated is about. */
    AnnouncementUpdatedData: {
      /** Format: uuid */
      announcement_id: string;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What file.added is about. */
    FileAddedData: {
      /** Format: uuid */
      file_id: string;
    };
    /** @description What file.deleted is about. */
    FileDeletedData: {
      /** Format: uuid */
      file_id: string;
    };
    /** @description What session.created is about. */
    SessionCreatedData: {
      /** Format: uuid */
      session_id: string;
    };
    /** @description What session.updated is about. */
    SessionUpdatedData: {
      /** Format: uuid */
      session_id: string;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What session.deleted is about. */
    SessionDeletedData: {
      /** Format: uuid */
      session_id: string;
    };
    /** @description What speaker.created is about. */
    SpeakerCreatedData: {
      /** Format: uuid */
      speaker_id: string;
    };
    /** @description What speaker.updated is about. */
    SpeakerUpdatedData: {
      /** Format: uuid */
      speaker_id: string;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What speaker.deleted is about. */
    SpeakerDeletedData: {
      /** Format: uuid */
      speaker_id: string;
    };
    /** @description What chat.message is about. */
    ChatMessageData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      channel_id: string;
      /** @description Of an edit or a deletion, the message that was changed. */
      event_id: number;
      /** Format: uuid */
      user_id: string | null;
      content: {
        [key: string]: unknown;
      };
    };
    /** @description What chat.edited is about. */
    ChatEditedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      channel_id: string;
      /** @description Of an edit or a deletion, the message that was changed. */
      event_id: number;
      /** Format: uuid */
      user_id: string | null;
      content: {
        [key: string]: unknown;
      };
    };
    /** @description What chat.deleted is about. */
    ChatDeletedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      channel_id: string;
      /** @description Of an edit or a deletion, the message that was changed. */
      event_id: number;
      /** Format: uuid */
      user_id: string | null;
    };
    /** @description What chat.joined is about. */
    ChatJoinedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      channel_id: string;
      /** @description Of an edit or a deletion, the message that was changed. */
      event_id: number;
      /** Format: uuid */
      user_id: string | null;
    };
    /** @description What chat.left is about. */
    ChatLeftData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      channel_id: string;
      /** @description Of an edit or a deletion, the message that was changed. */
      event_id: number;
      /** Format: uuid */
      user_id: string | null;
    };
    /** @description What question.created is about. */
    QuestionCreatedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      question_id: string;
    };
    /** @description What question.updated is about. */
    QuestionUpdatedData: {
      /** Format: uuid */
      room_id: string;
      /**
       * Format: uuid
       * @description Null when the pin of the room ended.
       */
      question_id: string | null;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What question.deleted is about. */
    QuestionDeletedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      question_id: string;
    };
    /** @description What question.votes is about. */
    QuestionVotesData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      question_id: string;
      score: number;
    };
    /** @description What poll.created is about. */
    PollCreatedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      poll_id: string;
    };
    /** @description What poll.updated is about. */
    PollUpdatedData: {
      /** Format: uuid */
      room_id: string;
      /**
       * Format: uuid
       * @description Null when the pin of the room ended.
       */
      poll_id: string | null;
      /** @description The fields that changed. */
      fields: string[];
    };
    /** @description What poll.deleted is about. */
    PollDeletedData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      poll_id: string;
    };
    /** @description What poll.votes is about. */
    PollVotesData: {
      /** Format: uuid */
      room_id: string;
      /** Format: uuid */
      poll_id: string;
      /** @description How many users chose each option, by its id. */
      results: {
        [key: string]: number;
      };
    };
    /** @description A change in a world. */
    FeedEntry:
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "world.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["WorldUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "room.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["RoomCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "room.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["RoomUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "room.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["RoomDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "rooms.reordered";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["RoomsReorderedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "user.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["UserCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "user.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["UserUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "user.moderated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["UserModeratedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "user.erased";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["UserErasedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "announcement.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["AnnouncementCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "announcement.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["AnnouncementUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "file.added";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["FileAddedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "file.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["FileDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "session.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["SessionCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "session.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["SessionUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "session.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["SessionDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "speaker.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["SpeakerCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "speaker.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["SpeakerUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "speaker.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["SpeakerDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "chat.message";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["ChatMessageData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "chat.edited";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["ChatEditedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "chat.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["ChatDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "chat.joined";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["ChatJoinedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "chat.left";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["ChatLeftData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "question.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["QuestionCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "question.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["QuestionUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "question.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["QuestionDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "question.votes";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["QuestionVotesData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "poll.created";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["PollCreatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "poll.updated";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["PollUpdatedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "poll.deleted";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["PollDeletedData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @enum {string} */
          type: "poll.votes";
          by: components["schemas"]["FeedAuthor"];
          data: components["schemas"]["PollVotesData"];
        }
      | {
          /** @description Counts up in the world, with gaps. */
          seq: number;
          /** @description To go on after this entry. */
          cursor: string;
          /** Format: date-time */
          at: string;
          /** @description A type that came later. Ignore it. */
          type: string;
          by: components["schemas"]["FeedAuthor"];
          data: {
            [key: string]: unknown;
          };
        };
    /**
     * @description Changes in the order in which they happened.
     * @example {
     *       "results": [
     *         {
     *           "seq": 812,
     *           "cursor": "812",
     *           "at": "2027-03-01T09:00:00.000Z",
     *           "type": "room.updated",
     *           "by": {
     *             "kind": "user",
     *             "user_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *             "token_id": "ada"
     *           },
     *           "data": {
     *             "room_id": "018f8f5e-6e2a-7cc0-8000-0123456789ab",
     *             "fields": [
     *               "name"
     *             ]
     *           }
     *         }
     *       ],
     *       "cursor": "812",
     *       "more": false
     *     }
     */
    FeedPage: {
      results: components["schemas"]["FeedEntry"][];
      /** @description To go on after this page. */
      cursor: string;
      /** @description Whether there are later entries now. */
      more: boolean;
    };
    /** @description Something that a person with rights did. */
    AuditEntry: {
      /** @description Counts up. */
      id: number;
      /** Format: date-time */
      at: string;
      by: components["schemas"]["FeedAuthor"];
      /** @description As in the change feed, and more. */
      type: string;
      /** @description What it was about: ids. */
      subject: {
        [key: string]: unknown;
      };
      /** @description Of objects, only the names that differ. Secrets are masked, and personal values left out. */
      changes: {
        field: string;
        before: unknown;
        after: unknown;
      }[];
      /** @description Finds it in the log of the server. */
      request_id: string | null;
    };
    /**
     * @description A page of the audit of a world, the newest first.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": 7,
     *           "at": "2027-03-01T09:00:00.000Z",
     *           "type": "room.updated",
     *           "by": {
     *             "kind": "api",
     *             "user_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *             "token_id": "ada"
     *           },
     *           "subject": {
     *             "room_id": "018f8f5e-6e2a-7cc0-8000-0123456789ab"
     *           },
     *           "changes": [
     *             {
     *               "field": "name",
     *               "before": "Stage",
     *               "after": "Main stage"
     *             }
     *           ],
     *           "request_id": "0b6d2a5e-7c1f-4a6e-9d6b-0c5b8a3f2d10"
     *         }
     *       ]
     *     }
     */
    AuditList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["AuditEntry"][];
    };
    /** @description An address that gets each change. */
    Webhook: {
      /** Format: uuid */
      id: string;
      /** @description Where the changes go: https, at a public address. */
      url: string;
      types: string[];
      /** @description Whether changes are sent. */
      enabled: boolean;
      description: string;
      /** Format: date-time */
      created_at: string;
      state: {
        /** @description Of the last entry that is done. */
        cursor: string;
        /**
         * Format: date-time
         * @description When the receiver took an entry last.
         */
        delivered_at: string | null;
        /**
         * Format: date-time
         * @description Since when it takes none.
         */
        failing_since: string | null;
        /** @description The status of its last answer. */
        last_status: number | null;
        /** @description Why the last try failed, in a word. */
        last_error: string | null;
        /**
         * Format: date-time
         * @description When the next entry is sent again.
         */
        next_try_at: string | null;
      };
      /** @description Signs what is sent. Only the answer that made it has it. */
      secret?: string;
      /**
       * @description After enabling: whether it goes on from its cursor, or from now, as older entries are gone.
       * @enum {string}
       */
      resumed?: "cursor" | "now";
    };
    /**
     * @description A new webhook.
     * @example {
     *       "url": "https://example.org/foyer",
     *       "types": [
     *         "room.*"
     *       ]
     *     }
     */
    WebhookDraft: {
      /** @description Where the changes go: https, at a public address. */
      url: string;
      /** @description Types of the change feed, also as room.*; ["*"] for everything. */
      types?: (
        | "*"
        | "world.*"
        | "room.*"
        | "rooms.*"
        | "user.*"
        | "announcement.*"
        | "file.*"
        | "session.*"
        | "speaker.*"
        | "chat.*"
        | "question.*"
        | "poll.*"
        | "world.updated"
        | "room.created"
        | "room.updated"
        | "room.deleted"
        | "rooms.reordered"
        | "user.created"
        | "user.updated"
        | "user.moderated"
        | "user.erased"
        | "announcement.created"
        | "announcement.updated"
        | "file.added"
        | "file.deleted"
        | "session.created"
        | "session.updated"
        | "session.deleted"
        | "speaker.created"
        | "speaker.updated"
        | "speaker.deleted"
        | "chat.message"
        | "chat.edited"
        | "chat.deleted"
        | "chat.joined"
        | "chat.left"
        | "question.created"
        | "question.updated"
        | "question.deleted"
        | "question.votes"
        | "poll.created"
        | "poll.updated"
        | "poll.deleted"
        | "poll.votes"
      )[];
      /** @description Whether changes are sent. */
      enabled?: boolean;
      description?: string;
    };
    /**
     * @description The fields of a webhook to replace.
     * @example {
     *       "enabled": false
     *     }
     */
    WebhookChanges: {
      /** @description Where the changes go: https, at a public address. */
      url?: string;
      /** @description Types of the change feed, also as room.*; ["*"] for everything. */
      types?: (
        | "*"
        | "world.*"
        | "room.*"
        | "rooms.*"
        | "user.*"
        | "announcement.*"
        | "file.*"
        | "session.*"
        | "speaker.*"
        | "chat.*"
        | "question.*"
        | "poll.*"
        | "world.updated"
        | "room.created"
        | "room.updated"
        | "room.deleted"
        | "rooms.reordered"
        | "user.created"
        | "user.updated"
        | "user.moderated"
        | "user.erased"
        | "announcement.created"
        | "announcement.updated"
        | "file.added"
        | "file.deleted"
        | "session.created"
        | "session.updated"
        | "session.deleted"
        | "speaker.created"
        | "speaker.updated"
        | "speaker.deleted"
        | "chat.message"
        | "chat.edited"
        | "chat.deleted"
        | "chat.joined"
        | "chat.left"
        | "question.created"
        | "question.updated"
        | "question.deleted"
        | "question.votes"
        | "poll.created"
        | "poll.updated"
        | "poll.deleted"
        | "poll.votes"
      )[];
      /** @description Whether changes are sent. */
      enabled?: boolean;
      description?: string;
      /** @description Null makes a new one, which the answer shows. */
      secret?: null;
    };
    /**
     * @description A page of the webhooks of a world, the oldest first.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *           "url": "https://example.org/foyer",
     *           "types": [
     *             "room.*"
     *           ],
     *           "enabled": true,
     *           "description": "",
     *           "created_at": "2027-03-01T09:00:00.000Z",
     *           "state": {
     *             "cursor": "812",
     *             "delivered_at": "2027-03-01T09:00:00.000Z",
     *             "failing_since": null,
     *             "last_status": 204,
     *             "last_error": null,
     *             "next_try_at": null
     *           }
     *         }
     *       ]
     *     }
     */
    WebhookList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["Webhook"][];
    };
    /**
     * @description From where it sends again.
     * @example {
     *       "after": "812"
     *     }
     */
    WebhookPosition: {
      /** @description A cursor of the change feed. */
      after: string;
    };
    /** @description How a try ended. */
    WebhookTest: {
      /** @description The status of the answer; null without one. */
      status: number | null;
      duration_ms: number;
      error: string | null;
    };
    /** @description A file that was uploaded to a world. */
    File: {
      /** Format: uuid */
      id: string;
      /**
       * Format: uri
       * @description Where it is.
       */
      url: string;
      /** @description In bytes. */
      size: number;
      /** @description Its MIME type. */
      type: string;
      /** @description Who uploaded it; null once that user is erased. */
      user_id: string | null;
      /** Format: date-time */
      uploaded_at: string;
    };
    /**
     * @description A page of the files of a world, the newest first.
     * @example {
     *       "count": 1,
     *       "next": null,
     *       "previous": null,
     *       "results": [
     *         {
     *           "id": "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10",
     *           "url": "https://summit.example.org/media/pub/summit/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg",
     *           "size": 48213,
     *           "type": "image/jpeg",
     *           "user_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
     *           "uploaded_at": "2027-01-31T09:30:00.000Z"
     *         }
     *       ]
     *     }
     */
    FileList: {
      /** @description How many there are on all pages. */
      count: number;
      /** Format: uri */
      next: string | null;
      /** Format: uri */
      previous: string | null;
      results: components["schemas"]["File"][];
    };
    /**
     * @description Where an uploaded file is.
     * @example {
     *       "url": "https://summit.example.org/media/pub/summit/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg"
     *     }
     */
    Upload: {
      /** Format: uri */
      url: string;
    };
    /** @description One file. Either both or none of `width` and `height`: an image that does not fit into this box is scaled down. */
    UploadForm: {
      /** Format: binary */
      file: string;
      /** @description Of the box into which an image is scaled down, in pixels. */
      width?: number;
      /** @description Of the box into which an image is scaled down, in pixels. */
      height?: number;
    };
    /**
     * @description Why a file was not taken.
     * @example {
     *       "error": "file.type"
     *     }
     */
    FileProblem: {
      /** @enum {string} */
      error: "file.missing" | "file.type" | "file.size";
    };
    /**
     * @description Why a call failed, in a sentence for people and a word for programs. A `conflict` has the fields whose values something else has.
     * @example {
     *       "detail": "You do not have permission to perform this action.",
     *       "code": "forbidden"
     *     }
     */
    Problem: {
      detail: string;
      /** @enum {string} */
      code:
        | "unauthenticated"
        | "forbidden"
        | "not_found"
        | "method_not_allowed"
        | "unsupported_media_type"
        | "too_large"
        | "missing"
        | "changed"
        | "conflict"
        | "quota"
        | "cursor_expired"
        | "invalid_json"
        | "invalid_request"
        | "rate_limited"
        | "unavailable"
        | "fault";
      fields?: components["schemas"]["Faults"];
    };
    /**
     * @description The faults of submitted data: messages by field, in dotted paths.
     * @example {
     *       "name": [
     *         "This field is required."
     *       ],
     *       "module_config.0.type": [
     *         "May not be empty."
     *       ]
     *     }
     */
    Faults: {
      /** @description The faults of the data as a whole. */
      non_field_errors?: string[];
    } & {
      [key: string]: string[];
    };
  };
  responses: {
    /** @description The client has it already. */
    NotModified: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        ETag: components["headers"]["ETag"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content?: never;
    };
    /** @description What was sent is not valid. */
    InvalidData: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json":
          components["schemas"]["Faults"] | components["schemas"]["Problem"];
      };
    };
    /** @description The file is not taken. */
    InvalidFile: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/json":
          | components["schemas"]["FileProblem"]
          | components["schemas"]["Problem"];
      };
    };
    /** @description The file is not taken, or it is no program. */
    InvalidProgram: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/json":
          | components["schemas"]["FileProblem"]
          | components["schemas"]["Faults"]
          | components["schemas"]["Problem"];
      };
    };
    /** @description The caller could not be identified. */
    Unauthenticated: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description It does not exist, or the caller may not. Callers who hold `world.update` read which (`missing`). */
    Forbidden: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description The caller may not upload here. */
    NoUpload: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content?: never;
    };
    /** @description There is no such file. */
    NotFound: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description The request is not valid HTTP. */
    Malformed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description Entries after the cursor are not kept any more. */
    Expired: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description Something else has a value already (`conflict`), or the world has as much as it may have (`quota`). */
    Conflict: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description It was changed in between. */
    Changed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description The body is larger than 1 MiB. */
    TooLarge: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description The body is not JSON. */
    NotJson: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Accept-Encoding": components["headers"]["Accept-Encoding"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description Too many requests in a minute. */
    TooMany: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description The server failed. */
    Failed: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
    /** @description Not now. Try again. */
    NotNow: {
      headers: {
        "X-Request-Id": components["headers"]["X-Request-Id"];
        "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
        "Retry-After": components["headers"]["Retry-After"];
        "Cache-Control": components["headers"]["Cache-Control"];
        [name: string]: unknown;
      };
      content: {
        "application/json": components["schemas"]["Problem"];
      };
    };
  };
  parameters: {
    /** @description Do it only in the state that this ETag names. */
    IfMatch: string;
    /** @description Answer 304 in the state that this ETag names. */
    IfNoneMatch: string;
  };
  requestBodies: never;
  headers: {
    /** @description Finds the request in the log. */
    "X-Request-Id": string;
    /** @description The declared type of the body is the real one. */
    "X-Content-Type-Options": "nosniff";
    /** @description Names the state that was answered. */
    ETag: string;
    /** @description How long it may be kept. */
    "Cache-Control": string;
    /** @description The name under which a browser saves it. */
    "Content-Disposition": string;
    /** @description Where it is. */
    Location: string;
    /** @description How a body may be coded. */
    "Accept-Encoding": "identity";
    /** @description How a caller authenticates. */
    "WWW-Authenticate": "Bearer";
    /** @description After how many seconds to try again. */
    "Retry-After": string;
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  setUp: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SetupDraft"];
      };
    };
    responses: {
      /** @description The event that was set up. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SetUp"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getHealth: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Whether requests should be sent here. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": {
            /** @enum {string} */
            status: "ok" | "stopping";
          };
        };
      };
      400: components["responses"]["Malformed"];
      500: components["responses"]["Failed"];
      /** @description Whether requests should be sent here. */
      503: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": {
            /** @enum {string} */
            status: "ok" | "stopping";
          };
        };
      };
    };
  };
  getReadiness: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The database answers. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": {
            /** @enum {string} */
            status: "ready";
          };
        };
      };
      400: components["responses"]["Malformed"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getWorld: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description One event space. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["World"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteWorld: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateWorld: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WorldChanges"];
      };
    };
    responses: {
      /** @description One event space. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["World"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateSchedule: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["ScheduleUpdate"];
      };
    };
    responses: {
      /** @description Clients are notified. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      /** @description No token is accepted, or the world shows another schedule. */
      401: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Problem"] | string;
        };
      };
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listRooms: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
        ordering?: "sorting_priority" | "-sorting_priority" | "name" | "-name";
        /** @description Rooms with a module of this type. */
        type?: string;
        /** @description Rooms whose name or description holds this. */
        search?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the rooms that the caller may see. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["RoomList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createRoom: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RoomDraft"];
      };
    };
    responses: {
      /** @description A place in a world. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Room"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getRoom: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A place in a world. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Room"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteRoom: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateRoom: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["RoomChanges"];
      };
    };
    responses: {
      /** @description A place in a world. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Room"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getProgram: {
    parameters: {
      query?: {
        format?: "json" | "schedule.json" | "ics";
      };
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The program as the caller may see it. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json":
            | components["schemas"]["WholeProgram"]
            | components["schemas"]["ScheduleDocument"];
          "text/calendar": string;
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  importProgram: {
    parameters: {
      query?: {
        /** @description Change nothing, and answer what would happen. */
        dry_run?: "true" | "false";
        /** @description Make the rooms that the world lacks. Asks for room.create. */
        create_rooms?: "true" | "false";
        /** @description Delete imported sessions that the document no longer has. */
        remove_missing?: "true" | "false";
      };
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json":
          | components["schemas"]["ProgramDraft"]
          | components["schemas"]["ScheduleDocument"];
        "application/xml": string;
        "text/calendar": string;
        "text/csv": string;
      };
    };
    responses: {
      /** @description The sessions that an import made, changed, left and deleted, the rooms that it made, and what it left out or had to decide. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ImportedProgram"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listSessions: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
        /** @description Sessions in the room of this id. */
        room?: string;
        /** @description Sessions of the speaker of this id. */
        speaker?: string;
        /** @description Sessions of this track. */
        track?: string;
        /** @description Sessions that end after this time. */
        from?: string;
        /** @description Sessions that begin before this time. */
        to?: string;
        /** @description Sessions whose title, texts, track, tags or speakers hold this. */
        search?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the sessions that the caller may see, by their start; sessions without one come last. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SessionList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createSession: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SessionDraft"];
      };
    };
    responses: {
      /** @description A session as it was written, and what may be wrong with it. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WrittenSession"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a session.
         * @example 3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21
         */
        session_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A part of the program. Without times it is not scheduled yet. Times are in UTC. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Session"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a session.
         * @example 3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21
         */
        session_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateSession: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a session.
         * @example 3d0f6a52-64f4-4c2d-8d0c-6a0e8f3c5b21
         */
        session_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SessionChanges"];
      };
    };
    responses: {
      /** @description A session as it was written, and what may be wrong with it. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WrittenSession"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listSpeakers: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the speakers that the caller may see, by name. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["SpeakerList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createSpeaker: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SpeakerDraft"];
      };
    };
    responses: {
      /** @description A speaker of the program. Only sessions make a speaker visible, except to callers with program.update. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Speaker"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getSpeaker: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a speaker.
         * @example a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42
         */
        speaker_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A speaker of the program. Only sessions make a speaker visible, except to callers with program.update. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Speaker"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteSpeaker: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a speaker.
         * @example a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42
         */
        speaker_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateSpeaker: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a speaker.
         * @example a1f6a0c6-3d55-4f37-8ab5-0d6f7c1e9b42
         */
        speaker_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["SpeakerChanges"];
      };
    };
    responses: {
      /** @description A speaker of the program. Only sessions make a speaker visible, except to callers with program.update. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Speaker"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listUsers: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
        ordering?: "created" | "-created" | "last_seen" | "-last_seen";
        /** @description Only the user with this `uid` in its tokens. */
        token_id?: string;
        /** @description Only the guest with this client ID. It is a credential, so no answer contains it. */
        client_id?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the users of a world. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["UserList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  moderateNamedUser: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["NamedUserChanges"];
      };
    };
    responses: {
      /** @description A user, with the decision of moderators. A banned user who is silenced stays banned. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ModeratedUser"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getUser: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        user_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A user, with the decision of moderators. A banned user who is silenced stays banned. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ModeratedUser"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  moderateUser: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        user_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UserChanges"];
      };
    };
    responses: {
      /** @description A user, with the decision of moderators. A banned user who is silenced stays banned. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ModeratedUser"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteUser: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["UserName"];
      };
    };
    responses: {
      /** @description It is forgotten. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listAnnouncements: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the announcements of a world, the oldest first. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AnnouncementList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createAnnouncement: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["AnnouncementDraft"];
      };
    };
    responses: {
      /** @description An announcement to all users of a world. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Announcement"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getAnnouncement: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        announcement_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description An announcement to all users of a world. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Announcement"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateAnnouncement: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        announcement_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["AnnouncementChanges"];
      };
    };
    responses: {
      /** @description An announcement to all users of a world. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Announcement"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listMessages: {
    parameters: {
      query?: {
        /** @description Only events after this id, the oldest of them. Not with `before`. */
        after?: number;
        /** @description Only events before this id, the newest of them. Not with `after`. Without `after` and `before`, the newest of all. */
        before?: number;
        limit?: number;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Some events of the chat of a room, the oldest first, and the users in them by id. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["MessageList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  sendMessage: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["MessageDraft"];
      };
    };
    responses: {
      /** @description A message, or another event of the chat of a room. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Message"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteMessage: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
        /** @description The id of a message. */
        event_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listQuestions: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the questions of a room, the oldest first: of the last 1,000 at most. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["QuestionList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listPolls: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a room.
         * @example 5f8b1c9e-3a52-4d0e-9f57-1f0a6a3f9f11
         */
        room_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the polls of a room, the oldest first: of the last 1,000 at most. Callers with `poll.results` get the results of all, others of polls that are over. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["PollList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createToken: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["TokenDraft"];
      };
    };
    responses: {
      /** @description A signed token, and a link with it. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Token"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getResults: {
    parameters: {
      query?: {
        /** @description Only of this room: its id. Not of `people`, which belong to no room. */
        room?: string;
        format?: "json" | "csv" | "xlsx";
        /** @description Of `activity`, and of no other kind: only from this time on. */
        after?: string;
        /** @description Of `activity`, and of no other kind: one record for so many minutes, with the largest number of people in them. By default 1. */
        every?: number;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description `people`, `chat`, `questions`, `polls`, `attendance` (who was where) or `activity` (how many people were in rooms, and how many messages they sent, minute by minute).
         * @example people
         */
        kind:
          "people" | "chat" | "questions" | "polls" | "attendance" | "activity";
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The records. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Content-Disposition": components["headers"]["Content-Disposition"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["ResultsList"];
          "text/csv": string;
          "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": string;
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getReport: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /** @description A sealed name of a report. */
        report: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The table. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Content-Disposition": components["headers"]["Content-Disposition"];
          [name: string]: unknown;
        };
        content: {
          "text/csv": string;
          "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": string;
        };
      };
      400: components["responses"]["InvalidData"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listWorlds: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the worlds of the server, by id. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WorldList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createWorld: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WorldDraft"];
      };
    };
    responses: {
      /** @description A new world with its first key, and links to its console and to the event. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["NewWorld"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getActivity: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description What goes on in a world, in all processes of the server. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Activity"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listChanges: {
    parameters: {
      query?: {
        /**
         * @description A cursor: entries after it. 0 begins with the oldest entry that is kept. Without it, the answer is an empty page with the present cursor.
         * @example 812
         */
        after?: string;
        /**
         * @description Types, separated by commas; room.* for all types of a kind. Unknown ones are ignored.
         * @example room.*,user.created
         */
        types?: string;
        limit?: number;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Changes in the order in which they happened. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["FeedPage"];
          "text/event-stream": string;
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      410: components["responses"]["Expired"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listAudit: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
        /** @description Only what the user with this id did. */
        user?: string;
        /** @description Types, separated by commas; room.* for a kind. */
        type?: string;
        /** @description Only later than this time. */
        after?: string;
        /** @description Only earlier than this time. */
        before?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the audit of a world, the newest first. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["AuditList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listWebhooks: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the webhooks of a world, the oldest first. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  createWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookDraft"];
      };
    };
    responses: {
      /** @description An address that gets each change. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          Location: components["headers"]["Location"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      409: components["responses"]["Conflict"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Answer 304 in the state that this ETag names. */
        "If-None-Match"?: components["parameters"]["IfNoneMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /** @description The id of the webhook. */
        webhook_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description An address that gets each change. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /** @description The id of the webhook. */
        webhook_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  updateWebhook: {
    parameters: {
      query?: never;
      header?: {
        /** @description Do it only in the state that this ETag names. */
        "If-Match"?: components["parameters"]["IfMatch"];
      };
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /** @description The id of the webhook. */
        webhook_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookChanges"];
      };
    };
    responses: {
      /** @description An address that gets each change. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          ETag: components["headers"]["ETag"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  testWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /** @description The id of the webhook. */
        webhook_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description How a try ended. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["WebhookTest"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  redeliverWebhook: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /** @description The id of the webhook. */
        webhook_id: string;
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": components["schemas"]["WebhookPosition"];
      };
    };
    responses: {
      /** @description An address that gets each change. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Webhook"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      410: components["responses"]["Expired"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  listFiles: {
    parameters: {
      query?: {
        page?: number;
        page_size?: number;
        /** @description Instead of `page`, and refused beside it: empty for the first page, then as in `next`. A page begins where the last one ended, whatever was added or deleted meanwhile. */
        cursor?: string;
      };
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description A page of the files of a world, the newest first. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["FileList"];
        };
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  deleteFile: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The identifier of a world.
         * @example sample
         */
        world_id: string;
        /**
         * @description The identifier of a file.
         * @example 0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10
         */
        file_id: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description It is deleted. */
      204: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["InvalidData"];
      401: components["responses"]["Unauthenticated"];
      403: components["responses"]["Forbidden"];
      412: components["responses"]["Changed"];
      413: components["responses"]["TooLarge"];
      415: components["responses"]["NotJson"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  uploadFile: {
    parameters: {
      query?: {
        /**
         * @description The identifier of the world to upload to.
         * @example sample
         */
        world?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "multipart/form-data": components["schemas"]["UploadForm"];
      };
    };
    responses: {
      /** @description Where an uploaded file is. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Upload"];
        };
      };
      400: components["responses"]["InvalidFile"];
      403: components["responses"]["NoUpload"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  uploadProgram: {
    parameters: {
      query?: {
        /**
         * @description The identifier of the world to upload to.
         * @example sample
         */
        world?: string;
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "multipart/form-data": components["schemas"]["UploadForm"];
      };
    };
    responses: {
      /** @description Where an uploaded file is. */
      201: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          [name: string]: unknown;
        };
        content: {
          "application/json": components["schemas"]["Upload"];
        };
      };
      400: components["responses"]["InvalidProgram"];
      403: components["responses"]["NoUpload"];
      429: components["responses"]["TooMany"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getFile: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The world in which it was uploaded.
         * @example sample
         */
        world: string;
        /**
         * @description An id, a secret and the extension of its type.
         * @example 0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.dZxQJU8_ZgNT.jpg
         */
        name: string;
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The file. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Accept-Ranges"?: "bytes";
          "Content-Range"?: string;
          "Content-Security-Policy"?: string;
          "Last-Modified"?: string;
          [name: string]: unknown;
        };
        content: {
          "image/png": string;
          "image/jpeg": string;
          "image/gif": string;
          "image/webp": string;
          "application/pdf": string;
          "image/svg+xml": string;
          "video/mp4": string;
          "video/webm": string;
          "audio/mpeg": string;
          "application/json": string;
          "application/xml": string;
          "text/calendar": string;
          "text/csv": string;
        };
      };
      /** @description A part of the file. */
      206: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Accept-Ranges"?: "bytes";
          "Content-Range"?: string;
          "Content-Security-Policy"?: string;
          "Last-Modified"?: string;
          [name: string]: unknown;
        };
        content: {
          "image/png": string;
          "image/jpeg": string;
          "image/gif": string;
          "image/webp": string;
          "application/pdf": string;
          "image/svg+xml": string;
          "video/mp4": string;
          "video/webm": string;
          "audio/mpeg": string;
          "application/json": string;
          "application/xml": string;
          "text/calendar": string;
          "text/csv": string;
        };
      };
      /** @description It is in a bucket (`S3_REDIRECT=on`), at this address for a while. */
      302: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          Location: components["headers"]["Location"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The client has it already. */
      304: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Accept-Ranges"?: "bytes";
          "Content-Range"?: string;
          "Content-Security-Policy"?: string;
          "Last-Modified"?: string;
          [name: string]: unknown;
        };
        content?: never;
      };
      400: components["responses"]["Malformed"];
      404: components["responses"]["NotFound"];
      /** @description It is not in the state that was named. */
      412: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Accept-Ranges"?: "bytes";
          "Content-Range"?: string;
          "Content-Security-Policy"?: string;
          "Last-Modified"?: string;
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description The file has no such part. */
      416: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          "Accept-Ranges"?: "bytes";
          "Content-Range"?: string;
          "Content-Security-Policy"?: string;
          "Last-Modified"?: string;
          [name: string]: unknown;
        };
        content?: never;
      };
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getOpenapi: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description This document. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": Record<string, never>;
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  getAsyncapi: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description An AsyncAPI document. */
      200: {
        headers: {
          "X-Request-Id": components["headers"]["X-Request-Id"];
          "X-Content-Type-Options": components["headers"]["X-Content-Type-Options"];
          ETag: components["headers"]["ETag"];
          "Cache-Control": components["headers"]["Cache-Control"];
          [name: string]: unknown;
        };
        content: {
          "application/json": Record<string, never>;
        };
      };
      304: components["responses"]["NotModified"];
      400: components["responses"]["InvalidData"];
      500: components["responses"]["Failed"];
      503: components["responses"]["NotNow"];
    };
  };
  onWorldUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "world.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["WorldUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onRoomCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "room.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["RoomCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onRoomUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "room.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["RoomUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onRoomDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "room.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["RoomDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onRoomsReordered: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "rooms.reordered";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["RoomsReorderedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onUserCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "user.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["UserCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onUserUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "user.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["UserUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onUserModerated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "user.moderated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["UserModeratedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onUserErased: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "user.erased";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["UserErasedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onAnnouncementCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "announcement.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["AnnouncementCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onAnnouncementUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "announcement.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["AnnouncementUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onFileAdded: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "file.added";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["FileAddedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onFileDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "file.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["FileDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onSessionCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "session.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["SessionCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onSessionUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "session.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["SessionUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onSessionDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "session.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["SessionDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onSpeakerCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "speaker.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["SpeakerCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onSpeakerUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "speaker.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["SpeakerUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onSpeakerDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "speaker.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["SpeakerDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onChatMessage: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "chat.message";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["ChatMessageData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onChatEdited: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "chat.edited";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["ChatEditedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onChatDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "chat.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["ChatDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onChatJoined: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "chat.joined";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["ChatJoinedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onChatLeft: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "chat.left";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["ChatLeftData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onQuestionCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "question.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["QuestionCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onQuestionUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "question.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["QuestionUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onQuestionDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "question.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["QuestionDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onQuestionVotes: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "question.votes";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["QuestionVotesData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onPollCreated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "poll.created";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["PollCreatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onPollUpdated: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "poll.updated";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["PollUpdatedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onPollDeleted: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "poll.deleted";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["PollDeletedData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onPollVotes: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "poll.votes";
          /** Format: date-time */
          timestamp: string;
          data: components["schemas"]["PollVotesData"];
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
  onWebhookTest: {
    parameters: {
      query?: never;
      header: {
        /** @description The same for every try of an entry. */
        "webhook-id": string;
        /** @description When it is sent, in seconds since 1970. */
        "webhook-timestamp": string;
        /** @description `v1,` and an HMAC-SHA256 with the secret. */
        "webhook-signature": string;
      };
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        "application/json": {
          /** @enum {string} */
          type: "webhook.test";
          /** Format: date-time */
          timestamp: string;
          data: {
            /** Format: uuid */
            webhook_id: string;
          };
        };
      };
    };
    responses: {
      /** @description It is taken, as by any other 2xx. */
      200: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
      /** @description Nothing more is wanted. The webhook is disabled. */
      410: {
        headers: {
          [name: string]: unknown;
        };
        content?: never;
      };
    };
  };
}
