/** How many connections one process opens to the mailboxes of accounts, at most. */
export class MailConnections {
  constructor(
    /** Of one account, the one that waits for changes included. */
    readonly perAccount: number,
    /** To one host, those that wait for changes not counted. */
    readonly perHost: number,
  ) {}
}
