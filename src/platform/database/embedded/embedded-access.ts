import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/*
 * Only the user who runs the embedded server, and root, may use it (docs/adr/0061). The server
 * listens on a socket in its data folder, which has mode 0700, and asks the kernel which user is
 * connecting.
 */

/** The name of the socket ends with this number. No other server uses the folder. */
export const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;

/** Longest path of a socket that Linux accepts, in bytes (`sun_path` without its final zero). */
const LONGEST_SOCKET_PATH = 107;

/**
 * Settings of the server. It is started in its data folder, so "." names that folder, however long
 * its path is.
 */
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
 * Replaces the server's access rules. Folders of older versions have rules that let every local
 * user in.
 * @param owner the account that the server runs as; null means our own
 */
export function writeAccessRules(
  dataDir: string,
  owner: { uid: number; gid: number } | null,
): void {
  for (const [name, text] of [
    ['pg_hba.conf', HBA],
    ['pg_ident.conf', identMap()],
  ] as const) {
    // As root we write into a folder of another account. A random name and "wx" keep us from
    // following that account's links.
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
  /**
   * Removes the link to the socket, if one was created. Call it after the last connection was
   * closed.
   */
  release(): void;
}

/** Creates a folder with a link to `dataDir`, so that the path of the socket is short enough. */
function linkTo(dataDir: string): string {
  for (const parent of new Set([os.tmpdir(), '/tmp'])) {
    // mkdtemp adds six characters.
    if (
      Buffer.byteLength(path.join(parent, 'carillon-123456', 'd', SOCKET_NAME)) >
      LONGEST_SOCKET_PATH
    )
      continue;
    // Mode 0700: no other user can replace the link.
    const folder = fs.mkdtempSync(path.join(parent, 'carillon-'));
    fs.symlinkSync(dataDir, path.join(folder, 'd'));
    return folder;
  }
  throw new Error(
    `The path of ${dataDir} is too long for a socket, and so is the path of ${os.tmpdir()}: use a DATA_DIR with a shorter path.`,
  );
}

/**
 * Returns a path to the socket in `dataDir` that is short enough for Linux. If the path is too
 * long, it uses a link in a temporary folder of mode 0700.
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
