import { z } from 'zod';
import { OPERATOR_ROLES } from './operator-role.ts';

export const meView = z
  .object({
    id: z.string().describe('Id of the operator'),
    name: z.string(),
    role: z.enum(OPERATOR_ROLES).describe('What this token may do: `read`, or also `operate`'),
  })
  .meta({
    id: 'Me',
    example: { id: '019aa1b2-0000-7000-8000-000000000001', name: 'ada', role: 'operate' },
  });
export type MeView = z.infer<typeof meView>;
