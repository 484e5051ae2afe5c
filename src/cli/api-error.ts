/** An error that the user of the `api` command can solve. It is shown without a stack. */
export class ApiCommandError extends Error {
  override name = 'ApiCommandError';
}
