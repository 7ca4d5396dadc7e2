import type { Director } from "./director.js";
import type { Running } from "../servers.js";
import type { Crowd, Joined } from "./crowd.js";

/** A server with a crowd. */
export interface Hall {
  server: Running;
  crowd: Crowd;
  joined: Joined;
  /** The server's processor time for their joining, in seconds. */
  cost: number;
  /** Makes the server send to the crowd. It is not part of it. */
  director: Director;
}
