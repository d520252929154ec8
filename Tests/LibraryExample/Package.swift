// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]

let package = Package(
    name: "LibraryExample",
    dependencies: [.package(name: "kf", path: "../..")],
    targets: [
        .executableTarget(
            name: "LibraryExample", dependencies: [.product(name: "KFCore", package: "kf")], swiftSettings: strict),
        .executableTarget(
            name: "ReadmeExample", dependencies: [.product(name: "KFCore", package: "kf")], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
