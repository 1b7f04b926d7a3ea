plugins {
    alias(libs.plugins.android.application)
    alias(libs.plugins.kotlin.android)
}

android {
    namespace = "org.tetraphone.demo"
    compileSdk = 35
    defaultConfig {
        applicationId = "org.tetraphone.demo"
        minSdk = 26
        targetSdk = 35
        versionCode = 1
        versionName = "0.1"
    }
}
