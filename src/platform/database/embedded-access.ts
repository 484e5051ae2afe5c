import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/*
 * Who may use the embedded server: only the user who runs it, and root (docs/adr/0061). It listens on a socket in its
 * data folder, which has mode 0700, and it asks the kernel which user is on the other end.
 */

/** Ends the name of the socket; no other server shares the folder. */
export const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;

/** Longest path of a socket that Linux accepts, in bytes (`sun_path` without its final zero). */
const LONGEST_SOCKET_PATH = 107;

/** Settings of the server. It is started in its data folder, so "." is that folder, however long its path is. */
export const ACCESS_SETTINGS = {
  port: String(SOCKET_PORT),
  listen_addresses: '',
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
} as const;

const GENERATED = '# Written by Carillon at every start. Changes are lost.\n';
const HBA = `${GENERATED}local all all peer map=carillon\n`;

function identMap(): string {
  const users = new Set(['root', os.userInfo().username]);
  const lines = [...users].map((user) => `carillon "${user.replaceAll('"', '""')}" all\n`);
  return `${GENERATED}${lines.join('')}`;
}

/**
 * Replaces the server's rules of who may connect, also in folders of older versions, which let every local user in.
 * @param owner the account the server runs as; null: our own
 */
export function writeAccessRules(
  dataDir: string,
  owner: { uid: number; gid: number } | null,
): void {
  for (const [name, text] of [
    ['pg_hba.conf', HBA],
    ['pg_ident.conf', identMap()],
  ] as const) {
    // As root we write into a folder of another account: a new name and "wx" keep us from following its links.
    const draft = path.join(dataDir, `${name}.${randomBytes(8).toString('hex')}`);
    const file = fs.openSync(draft, 'wx', 0o600);
    try {
      fs.writeSync(file, text);
      if (owner) fs.fchownSync(file, owner.uid, owner.gid);
    } finally {
      fs.closeSync(file);
    }
    fs.renameSync(draft, path.join(dataDir, name));
  }
}

/** How this process reaches the socket of an embedded server. */
export interface SocketAccess {
  path: string;
  /** postgres:// address of the database `carillon`. */
  url: string;
  /** Removes what was made to reach it. Call it when nobody connects any more. */
  release(): void;
}

/** A folder of ours with a link to `dataDir`, where the path of the socket is short enough. */
function linkTo(dataDir: string): string {
  for (const parent of new Set([os.tmpdir(), '/tmp'])) {
    // mkdtemp adds six characters.
    if (
      Buffer.byteLength(path.join(parent, 'carillon-123456', 'd', SOCKET_NAME)) >
      LONGEST_SOCKET_PATH
    )
      continue;
    // Mode 0700: nobody else can put another link in its place.
    const folder = fs.mkdtempSync(path.join(parent, 'carillon-'));
    fs.symlinkSync(dataDir, path.join(folder, 'd'));
    return folder;
  }
  throw new Error(
    `The path of ${dataDir} is too long for a socket, and so is that of ${os.tmpdir()}.`,
  );
}

/**
 * Finds a path to the socket in `dataDir` that is short enough for Linux; a longer one is reached by way of a link in a
 * temporary folder of mode 0700.
 */
export function reachSocket(dataDir: string): SocketAccess {
  let folder = path.resolve(dataDir);
  let link: string | undefined;
  if (Buffer.byteLength(path.join(folder, SOCKET_NAME)) > LONGEST_SOCKET_PATH) {
    link = linkTo(folder);
    folder = path.join(link, 'd');
  }
  return {
    path: path.join(folder, SOCKET_NAME),
    url: `postgresql://postgres@${encodeURIComponent(folder)}:${SOCKET_PORT}/carillon`,
    release: () => {
      if (link) fs.rmSync(link, { recursive: true, force: true });
    },
  };
}
