import { Module } from '@nestjs/common';
import { OperatorJobsModule } from '../jobs/operator-jobs.module.ts';
import { LogLevelModule } from '../log-level/log-level.module.ts';
import { OverviewModule } from '../overview/overview.module.ts';
import { OperatorWebhooksModule } from '../webhooks/operator-webhooks.module.ts';
import { ConsoleAssetsController } from './assets.controller.ts';
import { ConsoleJobsController } from './jobs.controller.ts';
import { ConsoleLogLevelController } from './log-level.controller.ts';
import { ConsoleOverviewController } from './overview.controller.ts';
import { MessageContent } from './preview/message-content.ts';
import { ConsoleSignInController } from './sign-in.controller.ts';
import { ConsoleWebhooksController } from './webhooks.controller.ts';

/** The web pages of operators, below `/console` (docs/console.md). */
@Module({
  imports: [OverviewModule, OperatorJobsModule, OperatorWebhooksModule, LogLevelModule],
  controllers: [
    ConsoleAssetsController,
    ConsoleSignInController,
    ConsoleOverviewController,
    ConsoleJobsController,
    ConsoleWebhooksController,
    ConsoleLogLevelController,
  ],
  providers: [MessageContent],
})
export class ConsoleModule {}
