import type { components, paths } from "./api.js";
import { type Change, type ChangesOptions, followChanges } from "./changes.js";
import { errorOf } from "./error.js";
import { type Access, baseOf, tokenOf } from "./live/client.js";
export type { Change, ChangeAuthor, ChangesOptions, ChangeType } from "./changes.js";
export { FoyerError, type ProblemCode, type UploadCode } from "./error.js";
export * from "./live.js";

type Schemas = components["schemas"];
export type World = Schemas["World"];
export type WorldChanges = Schemas["WorldChanges"];
export type Room = Schemas["Room"];
export type RoomDraft = Schemas["RoomDraft"];
export type RoomChanges = Schemas["RoomChanges"];
export type RoomList = Schemas["RoomList"];
export type User = Schemas["User"];
export type UserList = Schemas["UserList"];
export type UserName = Schemas["UserName"];
/** A session of the program, as in the HTTP API. */
export type Session = Schemas["Session"];
export type SessionDraft = Schemas["SessionDraft"];
export type SessionChanges = Schemas["SessionChanges"];
export type Invitation = Schemas["Invitation"];
export type InvitationDraft = Schemas["InvitationDraft"];
export type InvitationChanges = Schemas["InvitationChanges"];
export type InvitationWithLink = Schemas["InvitationWithLink"];
export type Speaker = Schemas["Speaker"];
export type SpeakerDraft = Schemas["SpeakerDraft"];
export type SpeakerChanges = Schemas["SpeakerChanges"];
/** The result of a program import, or of a dry run. */
export type ImportChoices = Schemas["ImportChoices"];
export type ImportedProgram = Schemas["ImportedProgram"];
/** The current activity in a world. */
export type Activity = Schemas["Activity"];
/** A file that was uploaded to the world; not a browser's `File`. */
export type StoredFile = Schemas["File"];
export type FileList = Schemas["FileList"];
/** Selects and orders rooms. */
export type RoomsQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/rooms"]["get"]["parameters"]["query"]
>;

/** Options for a program import. */
export interface ImportQuery {
  /** Change nothing, but return the changes that the import would make. */
  dry_run?: boolean;
  /** Like `dry_run`, and list what would change, record by record. */
  preview?: boolean;
  /** Keep the fields that have been edited manually since the last import. */
  keep_edits?: boolean;
  create_rooms?: boolean;
  remove_missing?: boolean;
}

/** Selects a page of a list. */
export interface PageQuery {
  page?: number;
  page_size?: number;
  /** Use instead of `page`: pass an empty string for the first page, then the value from `next`. */
  cursor?: string;
}

/** Selects and orders users. */
export type UsersQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/users"]["get"]["parameters"]["query"]
>;
/** Selects invitations. */
export type InvitationsQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/invitations"]["get"]["parameters"]["query"]
>;
/** Selects sessions. */
export type SessionsQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/sessions"]["get"]["parameters"]["query"]
>;

/** Query parameters for an iteration over all pages of a list. */
export type All<Query> = Omit<Query, "page" | "cursor">;

interface Page<T> {
  results: T[];
  next: string | null;
}

/** A value with its current ETag, for `ifMatch`. */
export type Versioned<T> = T & { readonly etag: string };

/** A size that a picture is scaled down to fit, in pixels: from 1 to 10,000. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

export interface ClientOptions extends Access {
  /** The function to use instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** With `ifMatch`, the call fails with 412 unless the resource has this ETag. */
export interface WriteOptions {
  ifMatch?: string;
}

/**
 * A client for one world on a Foyer server, for Node.js and browsers. Every method rejects with a
 * {@link FoyerError} if the server refuses.
 */
export class Foyer {
  readonly #base: string;
  readonly #api: string;
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#base = baseOf(options);
    this.#api = `${this.#base}/api/v1/worlds/${encodeURIComponent(options.world)}`;
  }

  /** Returns the world, with its keys. */
  getWorld(): Promise<Versioned<World>> {
    return this.#versioned<World>("GET", "");
  }

  /** Replaces the given fields of the world. */
  updateWorld(changes: WorldChanges, options?: WriteOptions): Promise<Versioned<World>> {
    return this.#versioned<World>("PATCH", "", changes, options);
  }

  /** Returns one page of the rooms that the caller may see. */
  listRooms(query: RoomsQuery = {}): Promise<RoomList> {
    return this.#page<RoomList>("/rooms/", query);
  }

  /** Yields all rooms that the caller may see, fetching pages on demand. */
  rooms(query: All<RoomsQuery> = {}): AsyncGenerator<Room> {
    return this.#all<Room>("/rooms/", query);
  }

  /** Returns a room. */
  getRoom(id: string): Promise<Versioned<Room>> {
    return this.#versioned<Room>("GET", roomPath(id));
  }

  /** Creates a room. */
  createRoom(draft: RoomDraft): Promise<Versioned<Room>> {
    return this.#versioned<Room>("POST", "/rooms/", draft);
  }

  /** Replaces the given fields of a room. */
  updateRoom(id: string, changes: RoomChanges, options?: WriteOptions): Promise<Versioned<Room>> {
    return this.#versioned<Room>("PATCH", roomPath(id), changes, options);
  }

  /** Deletes a room. */
  async deleteRoom(id: string, options?: WriteOptions): Promise<void> {
    await this.#send("DELETE", roomPath(id), undefined, options);
  }

  /** Yields all sessions that the caller may see, fetching pages on demand. */
  sessions(query: All<SessionsQuery> = {}): AsyncGenerator<Session> {
    return this.#all<Session>("/sessions/", query);
  }

  /** Returns a session of the program. */
  getSession(id: string): Promise<Versioned<Session>> {
    return this.#versioned<Session>("GET", partPath("sessions", id));
  }

  /** Adds a session to the program. */
  createSession(draft: SessionDraft): Promise<Versioned<Session>> {
    return this.#versioned<Session>("POST", "/sessions/", draft);
  }

  /** Replaces the given fields of a session. */
  updateSession(
    id: string,
    changes: SessionChanges,
    options?: WriteOptions,
  ): Promise<Versioned<Session>> {
    const path = partPath("sessions", id);
    return this.#versioned<Session>("PATCH", path, changes, options);
  }

  /** Deletes a session. */
  async deleteSession(id: string, options?: WriteOptions): Promise<void> {
    await this.#send("DELETE", partPath("sessions", id), undefined, options);
  }

  /** Yields the people who were invited, oldest first, fetching pages on demand. */
  invitations(query: All<InvitationsQuery> = {}): AsyncGenerator<Invitation> {
    return this.#all<Invitation>("/invitations/", query);
  }

  /** Returns an invitation, without its link. */
  getInvitation(id: string): Promise<Versioned<Invitation>> {
    return this.#versioned<Invitation>("GET", partPath("invitations", id));
  }

  /**
   * Invites people: all of them, or none.
   * @param drafts at most 1,000.
   * @returns the invitations in the same order, with their links, which no other answer repeats.
   */
  async invite(drafts: readonly InvitationDraft[]): Promise<InvitationWithLink[]> {
    const answer = await this.#send("POST", "/invitations/", drafts);
    return (await answer.json()) as InvitationWithLink[];
  }

  /** Replaces the given fields of an invitation. `revoked` revokes or restores it. */
  updateInvitation(
    id: string,
    changes: InvitationChanges,
    options?: WriteOptions,
  ): Promise<Versioned<Invitation>> {
    const path = partPath("invitations", id);
    return this.#versioned<Invitation>("PATCH", path, changes, options);
  }

  /** Deletes an invitation. Its links and sessions end at once. */
  async deleteInvitation(id: string, options?: WriteOptions): Promise<void> {
    await this.#send("DELETE", partPath("invitations", id), undefined, options);
  }

  /** Makes a new link for an invitation. The old link ends, with everything that it signed in. */
  async renewInvitationLink(id: string): Promise<string> {
    const path = `${partPath("invitations", id)}link/`;
    const answer = await this.#send("POST", path);
    return ((await answer.json()) as { link: string }).link;
  }

  /** Yields all speakers that the caller may see, fetching pages on demand. */
  speakers(query: All<PageQuery> = {}): AsyncGenerator<Speaker> {
    return this.#all<Speaker>("/speakers/", query);
  }

  /** Returns a speaker of the program. */
  getSpeaker(id: string): Promise<Versioned<Speaker>> {
    return this.#versioned<Speaker>("GET", partPath("speakers", id));
  }

  /** Adds a speaker to the program. Sessions can then refer to the speaker. */
  createSpeaker(draft: SpeakerDraft): Promise<Versioned<Speaker>> {
    return this.#versioned<Speaker>("POST", "/speakers/", draft);
  }

  /** Replaces the given fields of a speaker. */
  updateSpeaker(
    id: string,
    changes: SpeakerChanges,
    options?: WriteOptions,
  ): Promise<Versioned<Speaker>> {
    const path = partPath("speakers", id);
    return this.#versioned<Speaker>("PATCH", path, changes, options);
  }

  /** Deletes a speaker, and removes the speaker from all sessions. */
  async deleteSpeaker(id: string, options?: WriteOptions): Promise<void> {
    await this.#send("DELETE", partPath("speakers", id), undefined, options);
  }

  /**
   * Updates the program to match a document: pretalx, frab, a calendar or a table.
   * @param type the media type: `text/csv` for a table; other formats are recognized by their
   * content.
   */
  async importProgram(
    document: Blob | string,
    type: string,
    query: ImportQuery = {},
    choices?: ImportChoices,
  ): Promise<ImportedProgram> {
    let form: FormData | undefined;
    if (choices) {
      form = new FormData();
      form.append("document", new Blob([document], { type }), "document");
      form.append("choices", JSON.stringify(choices));
    }
    const answer = await this.#fetch(`${this.#api}/program/${queryOf(query)}`, {
      method: "PUT",
      // The boundary of a form is part of its type, which fetch sets.
      headers: { ...(await this.#authorization()), ...(!form && { "content-type": type }) },
      body: form ?? document,
    });
    return (await answer.json()) as ImportedProgram;
  }

  /** Returns the whole program as one document. */
  async exportProgram(format: "json" | "schedule.json" | "ics"): Promise<string> {
    const answer = await this.#send("GET", `/program/?format=${format}`);
    return answer.text();
  }

  /** Returns one page of the world's users, in order of creation. */
  listUsers(query: UsersQuery = {}): Promise<UserList> {
    return this.#page<UserList>("/users/", query);
  }

  /** Yields all of the world's users, fetching pages on demand. */
  users(query: All<UsersQuery> = {}): AsyncGenerator<User> {
    return this.#all<User>("/users/", query);
  }

  /** Returns the world's current activity, and totals since the server started. */
  async getActivity(): Promise<Activity> {
    const answer = await this.#send("GET", "/activity/");
    return (await answer.json()) as Activity;
  }

  /**
   * Follows changes to the world, from now on or after a cursor. The iteration reconnects
   * automatically and resumes after the last change, even if the server restarts. To stop the
   * iteration, leave the loop or abort `signal`.
   */
  changes(options: ChangesOptions = {}): AsyncGenerator<Change, void, undefined> {
    return followChanges(
      async (query, headers, signal) =>
        this.#fetch(`${this.#api}/changes/?${new URLSearchParams(query).toString()}`, {
          headers: { ...(await this.#authorization()), ...headers },
          signal,
        }),
      options,
    );
  }

  /** Returns one page of the world's files, newest first. */
  listFiles(query: PageQuery = {}): Promise<FileList> {
    return this.#page<FileList>("/files/", query);
  }

  /** Yields all of the world's files, fetching pages on demand. */
  files(query: All<PageQuery> = {}): AsyncGenerator<StoredFile> {
    return this.#all<StoredFile>("/files/", query);
  }

  /** Deletes a file. */
  async deleteFile(id: string): Promise<void> {
    await this.#send("DELETE", `/files/${encodeURIComponent(id)}/`);
  }

  /** Erases everything that identifies a user. */
  async deleteUser(name: UserName): Promise<void> {
    await this.#send("POST", "/delete_user", name);
  }

  /**
   * Uploads a file to the world.
   * @param file a `File`, or a `Blob`, for example from `openAsBlob` in `node:fs`.
   * @param name the file name, whose extension determines the type. It is required for a `Blob`; a
   * `File` already has a name.
   * @param box the size that a picture is scaled down to fit, in pixels; it keeps its size by default.
   * @returns the URL of the file. For a picture, append `?preview` to get its preview.
   */
  upload(file: File, name?: string, box?: Box): Promise<string>;
  upload(file: Blob, name: string, box?: Box): Promise<string>;
  async upload(file: Blob & { name?: string }, name = file.name, box?: Box) {
    const form = new FormData();
    for (const [side, pixels] of Object.entries(box ?? {})) form.append(side, String(pixels));
    form.append("file", file, name);
    const world = encodeURIComponent(this.#options.world);
    const path = `/storage/upload/?world=${world}`;
    const answer = await this.#fetch(this.#base + path, {
      method: "POST",
      body: form,
      headers: await this.#authorization(),
    });
    return ((await answer.json()) as Schemas["Upload"]).url;
  }

  /**
   * Sends a request to one of the world's paths for which this class has no method, such as
   * `request("GET", "/audit/?type=room.*")`.
   * @param path the path below the world, with its query.
   * @param body sent as JSON.
   * @returns the response, whose body has not been read yet.
   */
  request(method: string, path: string, body?: object): Promise<Response> {
    return this.#send(method, path, body);
  }

  async #page<T>(path: string, query: object): Promise<T> {
    const answer = await this.#send("GET", path + queryOf(query));
    return (await answer.json()) as T;
  }

  /**
   * Yields the items on all pages of a list. No item is skipped or repeated when items are added or
   * removed concurrently.
   */
  async *#all<T>(path: string, query: object): AsyncGenerator<T> {
    let search = queryOf({ ...query, cursor: "" });
    for (;;) {
      const answer = await this.#send("GET", path + search);
      const { results, next } = (await answer.json()) as Page<T>;
      yield* results;
      if (next === null) return;
      search = new URL(next).search;
    }
  }

  async #versioned<T>(
    method: string,
    path: string,
    body?: object,
    options?: WriteOptions,
  ): Promise<Versioned<T>> {
    const answer = await this.#send(method, path, body, options);
    const value = (await answer.json()) as T;
    // Not enumerable, so that callers can modify the value and send it back.
    return Object.defineProperty(value, "etag", {
      value: answer.headers.get("etag") ?? "",
    }) as Versioned<T>;
  }

  async #send(
    method: string,
    path: string,
    body?: object,
    { ifMatch }: WriteOptions = {},
  ): Promise<Response> {
    return this.#fetch(this.#api + path, {
      method,
      headers: {
        ...(await this.#authorization()),
        accept: "application/json",
        ...(body && { "content-type": "application/json" }),
        ...(ifMatch !== undefined && { "if-match": ifMatch }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  async #authorization(): Promise<Record<string, string>> {
    const { clientId } = this.#options;
    const token = await tokenOf(this.#options);
    if (token !== undefined) return { authorization: `Bearer ${token}` };
    if (clientId !== undefined) return { authorization: `Client ${clientId}` };
    return {};
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    const send = this.#options.fetch ?? fetch;
    const answer = await send(url, init);
    if (answer.ok) return answer;
    throw await errorOf(answer);
  }
}

/** Builds a query string, leaving out undefined values. */
function queryOf(query: object): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value));
  }
  return `?${params.toString()}`;
}

const partPath = (part: "sessions" | "speakers" | "invitations", id: string) =>
  `/${part}/${encodeURIComponent(id)}/`;

const roomPath = (id: string) => `/rooms/${encodeURIComponent(id)}/`;
