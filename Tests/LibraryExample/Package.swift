// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]
let library: Target.Dependency = .product(name: "KFCore", package: "kf")

let package = Package(
    name: "LibraryExample",
    dependencies: [.package(name: "kf", path: "../..")],
    targets: [
        .executableTarget(name: "LibraryExample", dependencies: [library], swiftSettings: strict),
        .executableTarget(name: "ReadmeExample", dependencies: [library], swiftSettings: strict),
        .executableTarget(name: "ImageProxy", dependencies: [library], swiftSettings: strict),
        // What `make bench BENCH=library` and `make stress STRESS=server` run.
        .target(name: "CAllocations"),
        .executableTarget(name: "LibraryBench", dependencies: [library, "CAllocations"], swiftSettings: strict),
        .executableTarget(name: "LibrarySoak", dependencies: [library], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
