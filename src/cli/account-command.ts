import type { Command } from 'commander';
import { GrantsModule } from '../accounts/grants/grants.module.ts';
import { TokenRefresh } from '../accounts/grants/token-refresh.ts';
import { WorkThreadsModule } from '../platform/threads/work-threads.module.ts';
import { formatJson } from './api-output.ts';
import type { OutputOptions } from './carillon-output.ts';
import { withOperator } from './operator-context.ts';

interface Io {
  environment: Readonly<Record<string, string | undefined>>;
  print(text: string): void;
}

/**
 * Adds `carillon account`.
 * @param accountIdOf parses the id of an account
 */
export function addAccounts(
  program: Command,
  accountIdOf: (value: string) => string,
  { environment, print }: Io,
): void {
  program
    .command('account')
    .description('Connected accounts')
    .command('refresh-token')
    .description(
      'get a new access token from the provider now, to see whether it still accepts the account; a refusal makes the account invalid',
    )
    .argument('<id>', 'id of an account that signed in by OAuth', accountIdOf)
    .action(async (id: string, _: object, command: Command) => {
      const expiresAt = await withOperator(
        environment,
        (context) => context.get(TokenRefresh, { strict: false }).refresh(id),
        [WorkThreadsModule, GrantsModule],
      );
      const until = expiresAt?.toISOString() ?? null;
      const { json } = command.optsWithGlobals<OutputOptions>();
      print(
        json
          ? formatJson({ account_id: id, expires_at: until })
          : `The provider has given a new access token${until ? `, valid until ${until}` : ''}.`,
      );
    });
}
