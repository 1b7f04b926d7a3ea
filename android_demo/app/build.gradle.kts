import org.jetbrains.kotlin.gradle.dsl.JvmTarget

plugins {
    alias(libs.plugins.android.application)
    alias(libs.plugins.kotlin.android)
}

// The app's models: int8, int4 and the tiny one in int8, as prepare.py takes them.
val copyModels = tasks.register<Copy>("copyModels") {
    from(rootDir.resolve("../models")) {
        include("*-int8.pte", "*-int4.pte")
        exclude("*-tiny-int4.pte")
    }
    into(layout.buildDirectory.dir("modelAssets/models"))
}

// resources.sh reads the lines `name = value` for builds without Gradle.
android {
    namespace = "org.tetraphone.demo"
    compileSdk = 35
    defaultConfig {
        applicationId = "org.tetraphone.demo"
        minSdk = 26
        targetSdk = 35
        versionCode = 1
        versionName = "0.1"
        testInstrumentationRunner = "androidx.test.runner.AndroidJUnitRunner"
    }
    buildTypes {
        release {
            isMinifyEnabled = true
            isShrinkResources = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
            // A key of one's own for a store; this one lets the small build be tried.
            signingConfig = signingConfigs["debug"]
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    sourceSets["main"].assets.srcDir(layout.buildDirectory.dir("modelAssets"))
    sourceSets["test"].kotlin.srcDir("../testing/runner")
    sourceSets["test"].resources.srcDir("../testing/resources")
    testOptions {
        unitTests.isIncludeAndroidResources = true
        // What `make android` leaves there: the host's library, models and expected phones.
        unitTests.all { test ->
            val prepared = rootDir.resolve("../build/android")
            test.jvmArgs("-Djava.library.path=$prepared/host", "-Xmx2g")
            test.systemProperty("tetraphone.models", "$prepared/assets/models")
            test.systemProperty("tetraphone.expected", "$prepared/expected")
            test.systemProperty("tetraphone.corpora", rootDir.resolve("../../shared/corpora"))
            test.systemProperty("tetraphone.screenshots", layout.buildDirectory.dir("screenshots").get())
        }
    }
}

kotlin {
    compilerOptions {
        jvmTarget = JvmTarget.JVM_1_8
    }
}

tasks.named("preBuild") {
    dependsOn(copyModels)
}

dependencies {
    implementation(project(":recognizer"))
    testImplementation(libs.junit)
    testImplementation(libs.robolectric)
    androidTestImplementation(libs.androidx.test.core)
    androidTestImplementation(libs.androidx.test.junit)
    androidTestImplementation(libs.androidx.test.rules)
    androidTestImplementation(libs.androidx.test.runner)
}
