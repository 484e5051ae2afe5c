import type { AccountTokensService } from '../../../operator/accounts/account-tokens.service.ts';
import { accountIdOf, example, secondsOf } from '../arguments.ts';
import type { AddCommands, OperatorCli } from '../cli.ts';

const COLUMNS = ['id', 'state', 'scopes', 'created_at', 'last_used_at', 'expires_at'] as const;

async function withTokens<T>(
  cli: OperatorCli,
  work: (tokens: AccountTokensService) => Promise<T>,
): Promise<T> {
  const [{ GrantsModule }, { GrantTokensService }, { WorkThreadsModule }, service, { Database }] =
    await Promise.all([
      import('../../../accounts/grants/grants.module.ts'),
      import('../../../accounts/grants/tokens/grant-tokens.service.ts'),
      import('../../../platform/threads/work-threads.module.ts'),
      import('../../../operator/accounts/account-tokens.service.ts'),
      import('../../../platform/database/sql.ts'),
    ]);
  return cli.withContainer(
    (context) => {
      const tokens = context.get(GrantTokensService, { strict: false });
      const database = context.get(Database, { strict: false });
      return work(new service.AccountTokensService(database, tokens));
    },
    [WorkThreadsModule, GrantsModule],
  );
}

/** Adds `carillon token`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('create <account>')
    .description('create an access token for an account (its id); it is shown only this once')
    .option('--scope <scopes>', 'scopes, separated by commas; default: all of the account')
    .option(
      '--expires <time>',
      "lifetime, such as 12h or 90d; default: the application's",
      secondsOf,
    )
    .option('--revoke-others', 'revoke all earlier tokens of the account')
    .addHelpText(...example('token create <account> --scope=email.send --expires=90d'))
    .action(
      async (
        account: string,
        flags: { scope?: string; expires?: number; revokeOthers?: boolean },
      ) => {
        const { scopeList } = await import('../../../platform/auth/scope.schema.ts');
        const wanted = {
          scope: flags.scope === undefined ? null : scopeList().parse(flags.scope),
          lifetimeSeconds: flags.expires ?? null,
          revokesOthers: flags.revokeOthers ?? false,
        };
        const id = accountIdOf(account);
        const { made, accessToken } = await withTokens(cli, (tokens) => tokens.create(id, wanted));
        const shown = { id: made.id, accessToken, expiresAt: made.expiresAt };
        cli.printObject(shown, 'The token is shown only this once.');
      },
    );
  group
    .command('list')
    .description('list the access tokens of an account, without the tokens themselves')
    .argument('<account>', 'id of the account', accountIdOf)
    .addHelpText(...example('token list <account>'))
    .action(async (account: string) => {
      cli.printRows(await withTokens(cli, (tokens) => tokens.list(account)), COLUMNS);
    });
  group
    .command('revoke')
    .description('revoke one access token of an account, or all')
    .argument('<account>', 'id of the account', accountIdOf)
    .argument('<token>', 'id of the token, or "all"')
    .addHelpText(...example('token revoke <account> all'))
    .action(async (account: string, token: string) => {
      await withTokens(cli, (tokens) =>
        token === 'all' ? tokens.revokeAll(account) : tokens.revoke(account, token),
      );
      cli.print({ revoked: token }, 'Revoked from the next request on.');
    });
};
