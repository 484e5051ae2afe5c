import type { AddCommands } from '../cli.ts';
import { accountIdOf } from '../arguments.ts';

/** Adds `carillon account`. */
export const add: AddCommands = (group, cli) => {
  group
    .command('refresh-token')
    .description(
      'get a new access token from the provider now, to see whether it still accepts the account; a refusal makes the account invalid',
    )
    .argument('<id>', 'id of an account that signed in by OAuth', accountIdOf)
    .action(async (id: string) => {
      const [{ GrantsModule }, { TokenRefresh }, { WorkThreadsModule }] = await Promise.all([
        import('../../../accounts/grants/grants.module.ts'),
        import('../../../accounts/grants/token-refresh.ts'),
        import('../../../platform/threads/work-threads.module.ts'),
      ]);
      const expiresAt = await cli.withContainer(
        (context) => context.get(TokenRefresh, { strict: false }).refresh(id),
        [WorkThreadsModule, GrantsModule],
      );
      const until = expiresAt?.toISOString() ?? null;
      cli.print(
        { account_id: id, expires_at: until },
        `The provider has given a new access token${until ? `, valid until ${until}` : ''}.`,
      );
    });
};
