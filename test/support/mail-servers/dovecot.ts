import fs from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TEST_CERTIFICATE, TEST_KEY } from '../tls-certificate.ts';
import { until } from '../until.ts';
import {
  freePorts,
  isListening,
  launch,
  removeFolder,
  run,
  serverFolder,
  untilListening,
} from './processes.ts';

/** Ports of a Dovecot, all on 127.0.0.1. */
export interface DovecotPorts {
  /** IMAP in clear text, and STARTTLS. */
  imap: number;
  /** IMAP with TLS from the first byte. */
  imaps: number;
  /** SMTP submission. Dovecot forwards the messages to `relayPort`. */
  submission: number;
  /** Delivery by LMTP. */
  lmtp: number;
}

/** Options of `Dovecot`. */
export interface DovecotOptions {
  /** Port of the server that receives the submitted messages. */
  relayPort: number;
  /** Base URL of the OAuth issuer whose tokens are accepted. Absent: passwords only. */
  issuerUrl?: string;
  /** More lines for the configuration file. */
  extra?: string;
}

const quoted = (text: string) => text.replaceAll(/[:\s]/g, '');

/** A real Dovecot (2.3) whose mailboxes are in a temporary folder. */
export class Dovecot {
  readonly ports: DovecotPorts;
  readonly folder: string;
  readonly #options: DovecotOptions;

  private constructor(folder: string, ports: DovecotPorts, options: DovecotOptions) {
    this.folder = folder;
    this.ports = ports;
    this.#options = options;
  }

  static async start(options: DovecotOptions): Promise<Dovecot> {
    const folder = await serverFolder('dovecot');
    const [imap = 0, imaps = 0, submission = 0, lmtp = 0] = await freePorts(4);
    const dovecot = new Dovecot(folder, { imap, imaps, submission, lmtp }, options);
    await dovecot.#write();
    await dovecot.begin();
    return dovecot;
  }

  /** Starts the server again after `end`. */
  async begin(): Promise<void> {
    await launch('dovecot', '-c', this.#configuration);
    await untilListening(this.ports.imap);
    await untilListening(this.ports.lmtp);
  }

  /** Stops the server and closes every connection. Its mailboxes stay. */
  async end(): Promise<void> {
    await run('doveadm', '-c', this.#configuration, 'stop').catch(() => undefined);
    const pid = path.join(this.folder, 'run', 'master.pid');
    await until('Dovecot to stop', () =>
      fs.access(pid).then(
        () => false,
        () => true,
      ),
    );
    // The login processes also listen on the ports, and Dovecot does not wait long for them.
    for (const port of Object.values(this.ports) as number[])
      await until(`port ${port} to be free`, async () => !(await isListening(port)));
  }

  async stop(): Promise<void> {
    await this.end();
    await removeFolder(this.folder);
  }

  /** Adds a mailbox, or changes its password. */
  async setUser(email: string, password: string): Promise<void> {
    const file = this.#userFile(email);
    const known = await fs.stat(file).catch(() => null);
    await fs.writeFile(`${file}.new`, `${email.toLowerCase()}:{PLAIN}${quoted(password)}::::::\n`, {
      mode: 0o644,
    });
    await fs.rename(`${file}.new`, file);
    // Dovecot checks a known file for changes only once a second.
    if (known) await delay(1_100);
  }

  /** Removes the login and deletes the mailbox. */
  async removeUser(email: string): Promise<void> {
    await fs.rm(this.#userFile(email), { force: true });
    await delay(1_100);
    await this.doveadm('kick', email).catch(() => undefined);
    const [local = ''] = email.split('@');
    await fs.rm(path.join(this.folder, 'mail', local.toLowerCase()), {
      recursive: true,
      force: true,
    });
  }

  /** The directory in which a folder's messages are stored (Maildir). */
  directoryOf(email: string, folder: string): string {
    const [local = ''] = email.split('@');
    const root = path.join(this.folder, 'mail', local.toLowerCase(), 'Maildir');
    return folder === 'INBOX' ? root : path.join(root, `.${folder.replaceAll('/', '.')}`);
  }

  /** Makes the server lose the numbers of a folder's messages: it gets another UIDVALIDITY. */
  async renumber(email: string, folder: string): Promise<void> {
    await this.doveadm('kick', email).catch(() => undefined);
    const directory = this.directoryOf(email, folder);
    const files = await fs.readdir(directory);
    for (const name of files.filter((one) => /^dovecot[-.](?:uidlist|index)/.test(one)))
      await fs.rm(path.join(directory, name));
  }

  /** Runs a `doveadm` command. */
  doveadm(...options: string[]): Promise<string> {
    return run('doveadm', '-c', this.#configuration, ...options);
  }

  get #configuration(): string {
    return path.join(this.folder, 'dovecot.conf');
  }

  /** One file for each user, because Dovecot finds a new file at once. */
  #userFile(email: string): string {
    return path.join(this.folder, 'users', email.toLowerCase());
  }

  async #write(): Promise<void> {
    const { folder } = this;
    const isRoot = process.getuid?.() === 0;
    const me = (await run('id', '-un')).trim();
    const group = (await run('id', '-gn', ...(isRoot ? ['dovecot'] : []))).trim();
    const mailUser = isRoot ? 'mail' : me;
    await fs.mkdir(path.join(folder, 'mail'), { mode: 0o777 });
    await fs.chmod(path.join(folder, 'mail'), 0o777);
    await fs.writeFile(path.join(folder, 'cert.pem'), TEST_CERTIFICATE);
    await fs.writeFile(path.join(folder, 'key.pem'), TEST_KEY);
    await fs.mkdir(path.join(folder, 'users'), { mode: 0o755 });
    if (this.#options.issuerUrl) {
      await fs.writeFile(
        path.join(folder, 'oauth2.conf'),
        oauthConfiguration(this.#options.issuerUrl),
      );
    }
    const users = isRoot
      ? { login: 'dovenull', internal: 'dovecot', group, mail: mailUser, chroot: true }
      : { login: me, internal: me, group, mail: mailUser, chroot: false };
    await fs.writeFile(
      this.#configuration,
      configuration(folder, this.ports, this.#options, users),
    );
  }
}

interface Users {
  login: string;
  internal: string;
  group: string;
  mail: string;
  chroot: boolean;
}

function oauthConfiguration(issuerUrl: string): string {
  const { host } = new URL(issuerUrl);
  return `
introspection_mode = post
introspection_url = http://dovecot:dovecot-secret@${host}/token/introspection
username_attribute = sub
active_attribute = active
active_value = true
openid_configuration_url = ${issuerUrl}/.well-known/openid-configuration
timeout_msecs = 30000
`;
}

const SPECIAL = ['Sent', 'Drafts', 'Trash', 'Junk', 'Archive'];

function configuration(
  folder: string,
  ports: DovecotPorts,
  { relayPort, issuerUrl, extra = '' }: DovecotOptions,
  users: Users,
): string {
  const oauth = issuerUrl
    ? `passdb {\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = ${folder}/oauth2.conf\n}\n`
    : '';
  // Only root can change the root folder of a process.
  const noChroot = users.chroot ? '' : '  chroot =\n';
  const special = SPECIAL.map(
    (name) => `  mailbox ${name} {\n    auto = subscribe\n    special_use = \\${name}\n  }\n`,
  ).join('');
  return `
base_dir = ${folder}/run
state_dir = ${folder}/state
log_path = ${folder}/dovecot.log
protocols = imap lmtp submission
listen = 127.0.0.1
ssl = yes
ssl_cert = <${folder}/cert.pem
ssl_key = <${folder}/key.pem
disable_plaintext_auth = no
auth_mechanisms = plain login${issuerUrl ? ' xoauth2 oauthbearer' : ''}
auth_failure_delay = 0
default_login_user = ${users.login}
default_internal_user = ${users.internal}
default_internal_group = ${users.group}
first_valid_uid = 1
mail_uid = ${users.mail}
mail_gid = ${users.mail === 'mail' ? 'mail' : users.group}
mail_home = ${folder}/mail/%Ln
mail_location = maildir:~/Maildir
mail_max_userip_connections = 200
hostname = mx.example.test
postmaster_address = postmaster@example.test
login_trusted_networks = 127.0.0.0/8
submission_relay_host = 127.0.0.1
submission_relay_port = ${relayPort}
${oauth}passdb {
  driver = passwd-file
  mechanisms = plain login
  args = scheme=PLAIN username_format=%Lu ${folder}/users/%Lu
}
userdb {
  driver = passwd-file
  args = username_format=%Lu ${folder}/users/%Lu
}
namespace inbox {
  inbox = yes
  separator = /
${special}}
service imap-login {
${noChroot}  process_min_avail = 1
  service_count = 0
  client_limit = 2000
  inet_listener imap {
    port = ${ports.imap}
  }
  inet_listener imaps {
    port = ${ports.imaps}
    ssl = yes
  }
}
service imap {
  process_limit = 3000
}
service submission-login {
${noChroot}  inet_listener submission {
    port = ${ports.submission}
  }
}
service lmtp {
  inet_listener lmtp {
    address = 127.0.0.1
    port = ${ports.lmtp}
  }
}
service anvil {
${noChroot}  client_limit = 6000
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service auth {
  client_limit = 6000
}
service stats {
  client_limit = 6000
}
${extra}
`;
}
