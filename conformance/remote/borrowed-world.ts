import { randomBytes } from "node:crypto";
import { Failure } from "../../schemas/plain/failure.js";
import { defaultPermissionConfig } from "../../schemas/plain/permissions.js";
import type { Room } from "../../schemas/rooms.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { NAME, SECRET, type WorldChanges } from "../stage.js";
import { roomIn, worldIn } from "./answers.js";
import type { Rest } from "./rest.js";

/** The issuer of the key that the people of the rows log in with. */
const ISSUER = "foyer-conformance";

/**
 * The world of a run. It gets the settings of a new world and one more key, and has its own
 * settings again at the end.
 */
export class BorrowedWorld {
  /** Signs the tokens of the people. */
  readonly key: WorldKey;
  readonly #rest: Rest;
  readonly #before: World;
  /** The world's own keys. */
  readonly #keys: readonly WorldKey[];

  private constructor(rest: Rest, before: World) {
    this.#rest = rest;
    this.#before = before;
    // A run that was killed leaves its key.
    this.#keys = before.config.JWT_secrets.filter(
      ({ issuer }) => issuer !== ISSUER,
    );
    const secret = randomBytes(32).toString("hex");
    this.key = { issuer: ISSUER, audience: before.id, secret };
  }

  /**
   * Reads the world, and changes nothing.
   * @throws {Failure} if it cannot be read, or has rooms that no earlier run made.
   */
  static async open(rest: Rest): Promise<BorrowedWorld> {
    const world = worldIn(await rest.send("GET", ""));
    const borrowed = new BorrowedWorld(rest, world);
    const foreign = (await borrowed.#rooms()).filter(
      ({ name }) => !isOfSuite(name),
    );
    if (foreign.length > 0) {
      throw new Failure(
        `the world ${world.id} has rooms, such as ${foreign[0]!.name}; create one for the suite`,
      );
    }
    return borrowed;
  }

  /** Gives the world the settings with which each row begins. */
  async reset(): Promise<void> {
    await this.#rest.send("PATCH", "", {
      title: NAME,
      config: { JWT_secrets: [...this.#keys, this.key] },
      permission_config: defaultPermissionConfig,
    });
  }

  async change(changes: WorldChanges): Promise<void> {
    worldIn(await this.#rest.send("PATCH", "", changes));
  }

  /** Removes the key of the people. */
  async removeKey(): Promise<void> {
    const config = { JWT_secrets: this.#keys };
    await this.#rest.send("PATCH", "", { config });
  }

  /** Deletes the rooms of the suite. */
  async clear(): Promise<void> {
    const rooms = await this.#rooms();
    await Promise.all(
      rooms
        .filter(({ name }) => isOfSuite(name))
        .map(({ id }) =>
          this.#rest.send("DELETE", `rooms/${id}/`, undefined, 403),
        ),
    );
  }

  /** Erases a user, if there is one. @param uid of the user's tokens. */
  async erase(uid: string): Promise<void> {
    const user = { token_id: uid };
    await this.#rest.send("POST", "delete_user", user, 403);
  }

  /** Erases the users of runs that were killed, on servers that list users. */
  async eraseUsers(): Promise<void> {
    const path = "users/?page_size=1000";
    const { results = [] } =
      (await this.#rest.send("GET", path, undefined, 403, 404, 405)) ?? {};
    for (const { token_id, profile } of results) {
      if (isOfSuite(String(profile?.display_name))) await this.erase(token_id);
    }
  }

  /** Gives the world back the settings that it had at the start. */
  async restore(): Promise<void> {
    const { title, config, permission_config } = this.#before;
    await this.#rest.send("PATCH", "", {
      title,
      config: { ...config, JWT_secrets: this.#keys },
      permission_config,
    });
  }

  async #rooms(): Promise<readonly Room[]> {
    const answer = await this.#rest.send("GET", "rooms/?page_size=1000");
    const results: unknown = answer?.results;
    if (Array.isArray(results)) return results.map(roomIn);
    throw new Failure("the list of rooms has no results");
  }
}

const isOfSuite = (name: string): boolean =>
  name.startsWith(NAME) || name.startsWith(SECRET);
