import './platform/base/node-version.ts';

/** The container's entry point. */
export async function main(): Promise<void> {
  const { serve } = await import('./app/serve.ts');
  await serve();
}

if (import.meta.main) await main();
