import fs from 'node:fs/promises';
import path from 'node:path';
import { TEST_CERTIFICATE, TEST_KEY } from '../tls-certificate.ts';
import { Daemon, freePorts, removeFolder, run, serverFolder } from './processes.ts';

/**
 * A real Exim that accepts mail for `example.test`, delivers it by LMTP, and refuses what tests
 * want refused:
 *
 * - recipients `greylist@…` with 450 4.2.0, `full@…` with 552 5.2.2; other domains without a
 *   login with 550 5.7.1
 * - senders of `limited.test` after three recipients a day, with 550 5.4.5
 * - subjects with VIRUS with 550 5.7.1, with TEMPFAIL with 451 4.3.0, both at the end of the
 *   content
 * - senders named by `deny` with the reply given there, at MAIL FROM
 */
export class Exim {
  /** Port for SMTP with STARTTLS and PLAIN. */
  readonly port: number;
  readonly folder: string;
  readonly #daemon: Daemon;
  #writing: Promise<void> = Promise.resolve();

  private constructor(port: number, folder: string, daemon: Daemon) {
    this.port = port;
    this.folder = folder;
    this.#daemon = daemon;
  }

  static async start(port: number, lmtpPort: () => number): Promise<Exim> {
    const folder = await serverFolder('exim');
    const isRoot = process.getuid?.() === 0;
    for (const name of ['spool', 'log']) await fs.mkdir(path.join(folder, name));
    await fs.writeFile(path.join(folder, 'deny'), '');
    await fs.writeFile(path.join(folder, 'pw'), '');
    await fs.writeFile(path.join(folder, 'cert.pem'), TEST_CERTIFICATE);
    await fs.writeFile(path.join(folder, 'key.pem'), TEST_KEY);
    const me = { user: (await run('id', '-un')).trim(), group: (await run('id', '-gn')).trim() };
    const file = path.join(folder, 'exim.conf');
    await fs.writeFile(file, configuration(folder, port, lmtpPort(), isRoot ? null : me));
    if (isRoot)
      await run('chown', '-R', 'Debian-exim', path.join(folder, 'spool'), path.join(folder, 'log'));
    // A delivery that failed is retried every 5 seconds, before the waiting test gives up.
    const daemon = new Daemon('exim4', ['-C', file, '-bdf', '-q5s']);
    await daemon.listening(port);
    return new Exim(port, folder, daemon);
  }

  /** A free port for a server that is to be started. */
  static async freePort(): Promise<number> {
    const [port = 0] = await freePorts(1);
    return port;
  }

  /** Adds a login, or changes its password. */
  async setUser(email: string, password: string): Promise<void> {
    await this.#append('pw', `${email.toLowerCase()}: ${password}\n`);
  }

  /** From now on refuses mail from this address at MAIL FROM, with this reply. */
  async deny(email: string, reply: string): Promise<void> {
    await this.#append('deny', `${email.toLowerCase()}: ${reply}\n`);
  }

  async stop(): Promise<void> {
    await this.#daemon.stop();
    await removeFolder(this.folder);
  }

  /** Exim uses the first matching line, so the newest line goes first. */
  #append(name: string, line: string): Promise<void> {
    // One at a time, because each call rewrites the file.
    const written = this.#writing.then(() => this.#prepend(name, line));
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #prepend(name: string, line: string): Promise<void> {
    const file = path.join(this.folder, name);
    const before = await fs.readFile(file, 'utf8');
    await fs.writeFile(`${file}.new`, line + before, { mode: 0o644 });
    await fs.rename(`${file}.new`, file);
  }
}

function configuration(
  folder: string,
  port: number,
  lmtpPort: number,
  me: { user: string; group: string } | null,
): string {
  const owner = me ? `exim_user = ${me.user}\nexim_group = ${me.group}\n` : '';
  return `
primary_hostname = mx.example.test
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path = ${folder}/exim.pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
deliver_drop_privilege = true
tls_advertise_hosts = *
tls_certificate = ${folder}/cert.pem
tls_privatekey = ${folder}/key.pem
auth_advertise_hosts = *
message_size_limit = 60M
smtp_accept_max = 200
smtp_accept_max_per_connection = 5000
queue_run_max = 10
${owner}keep_environment =
acl_smtp_mail = acl_mail
acl_smtp_rcpt = acl_rcpt
acl_smtp_data = acl_data
begin acl
acl_mail:
  deny   condition = \${lookup{$sender_address}lsearch{${folder}/deny}{yes}{no}}
         message   = \${lookup{$sender_address}lsearch{${folder}/deny}}
  accept
acl_rcpt:
  deny   sender_domains = limited.test
         ratelimit = 3 / 1d / strict / per_rcpt / $sender_address
         message   = 550 5.4.5 Daily user sending limit exceeded.
  defer  local_parts = greylist
         message   = 450 4.2.0 Greylisted
  deny   local_parts = full
         message   = 552 5.2.2 mailbox full
  accept domains = example.test
  accept authenticated = *
  deny   message   = 550 5.7.1 relay not permitted
acl_data:
  deny   condition = \${if match{$header_subject:}{VIRUS}}
         message   = 550 5.7.1 content rejected
  defer  condition = \${if match{$header_subject:}{TEMPFAIL}}
         message   = 451 4.3.0 scanner failure
  accept
begin routers
lmtp:
  driver = manualroute
  domains = example.test
  route_list = * 127.0.0.1
  self = send
  transport = lmtp_tcp
begin transports
lmtp_tcp:
  driver = smtp
  protocol = lmtp
  port = ${lmtpPort}
  allow_localhost
begin retry
* * F,1h,5s; F,1d,1m
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if eq{$auth3}{\${lookup{$auth2}lsearch{${folder}/pw}{$value}{*none*}}}}
  server_set_id = $auth2
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = <| Username: | Password:
  server_condition = \${if eq{$auth2}{\${lookup{$auth1}lsearch{${folder}/pw}{$value}{*none*}}}}
  server_set_id = $auth1
`;
}
