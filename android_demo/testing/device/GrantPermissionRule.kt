package androidx.test.rule

import org.junit.rules.TestRule
import org.junit.runner.Description
import org.junit.runners.model.Statement

class GrantPermissionRule private constructor() : TestRule {
    override fun apply(base: Statement, description: Description): Statement = base

    companion object {
        @JvmStatic
        fun grant(@Suppress("UNUSED_PARAMETER") vararg permissions: String) = GrantPermissionRule()
    }
}
