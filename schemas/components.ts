import type { TSchema } from "@sinclair/typebox";
import { Activity } from "./activity.js";
import { Faults, Problem } from "./errors.js";
import { File, FileList, FileProblem, Upload, UploadForm } from "./files.js";
import { Module, Room, RoomChanges, RoomDraft, RoomList } from "./rooms.js";
import { PermissionConfig, Rule } from "./rules.js";
import { User, UserList, UserName } from "./users.js";
import { World, WorldChanges, WorldKey } from "./worlds.js";

/** The named schemas, which others refer to in code and in the OpenAPI document. */
export const components: readonly TSchema[] = [
  World,
  WorldChanges,
  WorldKey,
  Room,
  RoomDraft,
  RoomChanges,
  RoomList,
  Module,
  PermissionConfig,
  Rule,
  User,
  UserList,
  UserName,
  Activity,
  File,
  FileList,
  Upload,
  UploadForm,
  FileProblem,
  Problem,
  Faults,
];
