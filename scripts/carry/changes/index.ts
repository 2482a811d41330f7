/**
 * Every change that is carried, in the order of its commits.
 * @module
 */
import type { Change } from '../change.ts'
import { bash } from './bash.ts'
import { goalRoundDriver } from './goal-round-driver.ts'
import { jobs } from './jobs.ts'
import { jobsLocal } from './jobs-local.ts'
import { toolAskUser } from './tool-ask-user.ts'
import { toolJobs } from './tool-jobs.ts'

export const CHANGES: readonly Change[] = [goalRoundDriver, toolAskUser, jobs, jobsLocal, toolJobs, bash]
