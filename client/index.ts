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
/** A part of the program, as the HTTP API has it. */
export type Session = Schemas["Session"];
export type SessionDraft = Schemas["SessionDraft"];
export type SessionChanges = Schemas["SessionChanges"];
export type Speaker = Schemas["Speaker"];
export type SpeakerDraft = Schemas["SpeakerDraft"];
export type SpeakerChanges = Schemas["SpeakerChanges"];
/** What an import of a program did, or would do. */
export type ImportedProgram = Schemas["ImportedProgram"];
/** The activity in a world. */
export type Activity = Schemas["Activity"];
/** A file that was uploaded to the world; not the `File` of a browser. */
export type StoredFile = Schemas["File"];
export type FileList = Schemas["FileList"];
/** Selects and orders rooms. */
export type RoomsQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/rooms"]["get"]["parameters"]["query"]
>;

/** How an import treats what only one of document and world has. */
export interface ImportQuery {
  /** Change nothing, and answer what would happen. */
  dry_run?: boolean;
  create_rooms?: boolean;
  remove_missing?: boolean;
}

/** Selects a page of a list. */
export interface PageQuery {
  page?: number;
  page_size?: number;
  /** Instead of `page`: empty for the first page, then as in `next`. */
  cursor?: string;
}

/** Selects and orders users. */
export type UsersQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/users"]["get"]["parameters"]["query"]
>;
/** Selects sessions. */
export type SessionsQuery = NonNullable<
  paths["/api/v1/worlds/{world_id}/sessions"]["get"]["parameters"]["query"]
>;

/** Selects from all pages of a list. */
export type All<Query> = Omit<Query, "page" | "cursor">;

interface Page<T> {
  results: T[];
  next: string | null;
}

/** A value with the ETag of its state, for `ifMatch`. */
export type Versioned<T> = T & { readonly etag: string };

export interface ClientOptions extends Access {
  /** Used instead of the global `fetch`. */
  fetch?: typeof fetch;
}

/** With `ifMatch`, the call fails with 412 unless the resource has this ETag. */
export interface WriteOptions {
  ifMatch?: string;
}

/**
 * A client for one world of a Foyer server, for Node and browsers.
 * Every method rejects with a {@link FoyerError} when the server refuses.
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

  /** The world, with its keys. */
  getWorld(): Promise<Versioned<World>> {
    return this.#versioned<World>("GET", "");
  }

  /** Replaces the named fields of the world. */
  updateWorld(changes: WorldChanges, options?: WriteOptions): Promise<Versioned<World>> {
    return this.#versioned<World>("PATCH", "", changes, options);
  }

  /** One page of the rooms that the caller may see. */
  listRooms(query: RoomsQuery = {}): Promise<RoomList> {
    return this.#page<RoomList>("/rooms/", query);
  }

  /** All rooms that the caller may see, a page at a time as they are used. */
  rooms(query: All<RoomsQuery> = {}): AsyncGenerator<Room> {
    return this.#all<Room>("/rooms/", query);
  }

  /** One room. */
  getRoom(id: string): Promise<Versioned<Room>> {
    return this.#versioned<Room>("GET", roomPath(id));
  }

  /** Creates a room. */
  createRoom(draft: RoomDraft): Promise<Versioned<Room>> {
    return this.#versioned<Room>("POST", "/rooms/", draft);
  }

  /** Replaces the named fields of a room. */
  updateRoom(id: string, changes: RoomChanges, options?: WriteOptions): Promise<Versioned<Room>> {
    return this.#versioned<Room>("PATCH", roomPath(id), changes, options);
  }

  /** Deletes a room. */
  async deleteRoom(id: string, options?: WriteOptions): Promise<void> {
    await this.#send("DELETE", roomPath(id), undefined, options);
  }

  /** All sessions that the caller may see, a page at a time as they are used. */
  sessions(query: All<SessionsQuery> = {}): AsyncGenerator<Session> {
    return this.#all<Session>("/sessions/", query);
  }

  /** A session of the program. */
  getSession(id: string): Promise<Versioned<Session>> {
    return this.#versioned<Session>("GET", partPath("sessions", id));
  }

  /** Adds a session to the program. */
  createSession(draft: SessionDraft): Promise<Versioned<Session>> {
    return this.#versioned<Session>("POST", "/sessions/", draft);
  }

  /** Replaces the named fields of a session. */
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

  /** All speakers whom the caller may see, a page at a time as they are used. */
  speakers(query: All<PageQuery> = {}): AsyncGenerator<Speaker> {
    return this.#all<Speaker>("/speakers/", query);
  }

  /** A speaker of the program. */
  getSpeaker(id: string): Promise<Versioned<Speaker>> {
    return this.#versioned<Speaker>("GET", partPath("speakers", id));
  }

  /** Adds a speaker, whom sessions may name. */
  createSpeaker(draft: SpeakerDraft): Promise<Versioned<Speaker>> {
    return this.#versioned<Speaker>("POST", "/speakers/", draft);
  }

  /** Replaces the named fields of a speaker. */
  updateSpeaker(
    id: string,
    changes: SpeakerChanges,
    options?: WriteOptions,
  ): Promise<Versioned<Speaker>> {
    const path = partPath("speakers", id);
    return this.#versioned<Speaker>("PATCH", path, changes, options);
  }

  /** Deletes a speaker, and takes them out of their sessions. */
  async deleteSpeaker(id: string, options?: WriteOptions): Promise<void> {
    await this.#send("DELETE", partPath("speakers", id), undefined, options);
  }

  /**
   * Makes the program agree with a document of pretalx, frab, a calendar or a table.
   * @param type its media type: `text/csv` for a table; of the others, the content decides.
   */
  async importProgram(
    document: Blob | string,
    type: string,
    query: ImportQuery = {},
  ): Promise<ImportedProgram> {
    const answer = await this.#fetch(`${this.#api}/program/${queryOf(query)}`, {
      method: "PUT",
      headers: { ...(await this.#authorization()), "content-type": type },
      body: document,
    });
    return (await answer.json()) as ImportedProgram;
  }

  /** The whole program as one document. */
  async exportProgram(format: "json" | "schedule.json" | "ics"): Promise<string> {
    const answer = await this.#send("GET", `/program/?format=${format}`);
    return answer.text();
  }

  /** One page of the users of the world, the first made first. */
  listUsers(query: UsersQuery = {}): Promise<UserList> {
    return this.#page<UserList>("/users/", query);
  }

  /** All users of the world, a page at a time as they are used. */
  users(query: All<UsersQuery> = {}): AsyncGenerator<User> {
    return this.#all<User>("/users/", query);
  }

  /** The present activity in the world, and totals since the start of the server. */
  async getActivity(): Promise<Activity> {
    const answer = await this.#send("GET", "/activity/");
    return (await answer.json()) as Activity;
  }

  /**
   * Follows what changes in the world, from now on or after a cursor. It connects again by itself
   * and goes on after the last change, also when the server restarts. Leave the loop, or
   * abort `signal`, to end it.
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

  /** One page of the files of the world, the newest first. */
  listFiles(query: PageQuery = {}): Promise<FileList> {
    return this.#page<FileList>("/files/", query);
  }

  /** All files of the world, a page at a time as they are used. */
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
   * @param file a `File`, or a `Blob` such as `openAsBlob` of `node:fs` gives.
   * @param name the file name; its extension gives the type. A `File` has a name of
   *   its own, and a `Blob` needs one.
   * @returns the URL of the file.
   */
  upload(file: File, name?: string): Promise<string>;
  upload(file: Blob, name: string): Promise<string>;
  async upload(file: Blob & { name?: string }, name = file.name) {
    const form = new FormData();
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
   * Calls a path of the world that has no method of its own, such as
   * `request("GET", "/audit/?type=room.*")`.
   * @param path below the world, with its query.
   * @param body is sent as JSON.
   * @returns the answer, whose body is still to be read.
   */
  request(method: string, path: string, body?: object): Promise<Response> {
    return this.#send(method, path, body);
  }

  async #page<T>(path: string, query: object): Promise<T> {
    const answer = await this.#send("GET", path + queryOf(query));
    return (await answer.json()) as T;
  }

  /** The items of all pages of a list, none left out or repeated while others come and go. */
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
    // Not enumerable, so that the value can be changed and sent back as it is.
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

/** A query without what is undefined. */
function queryOf(query: object): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) params.set(name, String(value));
  }
  return `?${params.toString()}`;
}

const partPath = (part: "sessions" | "speakers", id: string) =>
  `/${part}/${encodeURIComponent(id)}/`;

const roomPath = (id: string) => `/rooms/${encodeURIComponent(id)}/`;
