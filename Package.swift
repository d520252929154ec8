// swift-tools-version: 6.2
import Foundation
import PackageDescription

let strict: [SwiftSetting] = [.treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny")]
/// Loops over pixels take ten to fifty times as long without optimisation, also in a program that depends on this package
/// and is built for debugging. SwiftPM takes these flags of a dependency since 6.2, whether it is a tag or a branch.
///
/// Without the whole module in view, generic code of another file is not specialised, and most of the time is not won. With
/// one thread the compiler refuses the index that SwiftPM asks for; batch mode would only be warned of.
let optimized =
    strict + [
        .unsafeFlags(
            ["-O", "-whole-module-optimization", "-num-threads", "2", "-disable-batch-mode"],
            .when(configuration: .debug))
    ]
/// The same file by file, where the loops are over bytes and no generic code of other files is among them. A change of one
/// file builds that file alone.
let optimizedFiles = strict + [.unsafeFlags(["-O"], .when(configuration: .debug))]
/// Targets without loops over bytes. Small code is read from the disk sooner, and a start of the program takes fewer
/// instructions; a cached image of a list takes slightly more.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]
let strictC: [CSetting] = [.treatAllWarnings(as: .error)]
let optimizedC = strictC + [.unsafeFlags(["-O2"], .when(configuration: .debug))]

/// The folders of archives: Debian's is named after the machine, Fedora has lib64.
let libraryFolders =
    ["/usr/local/lib", "/usr/lib", "/usr/lib64"]
    + ["x86_64", "aarch64"].map { "/usr/lib/\($0)-linux-gnu" }

/// Debian ships these as archives: linking them keeps a start of the program at the cost of no extra library.
/// The dynamic libraries that pkg-config adds behind them are then not needed, and the linker leaves them out. Systems
/// without archives, such as Arch, get the dynamic libraries.
func archives(_ names: String...) -> [LinkerSetting] {
    names.map { name in
        let hasArchive = libraryFolders.contains { FileManager.default.fileExists(atPath: "\($0)/lib\(name).a") }
        return .linkedLibrary(hasArchive ? ":lib\(name).a" : name)
    }
}

let package = Package(
    name: "kf",
    products: [
        .executable(name: "kf", targets: ["kf"]),
        .library(
            name: "KFCore",
            targets: ["KFCore", "KFPipeline", "KFLists", "KFRemote", "KFTerms", "KFImaging", "KFNetwork", "KFStorage"]),
        .library(name: "KFFoundation", targets: ["KFFoundation"]),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CSystem", cSettings: strictC),
        .target(name: "CCurl", cSettings: strictC),
        .target(name: "CArchive", cSettings: strictC),
        .target(name: "CCommand", exclude: ["Linking"], cSettings: strictC),
        .target(
            name: "CImageCodecs", cSettings: optimizedC,
            linkerSettings: archives("png16", "jpeg", "webpmux", "webpdemux", "webp", "gif", "z")),

        .target(name: "KFSystem", dependencies: ["CSystem"], swiftSettings: optimizedFiles),
        .target(name: "KFImaging", dependencies: ["CImageCodecs"], swiftSettings: optimized),
        .target(
            name: "KFStorage", dependencies: ["KFSystem", "CSQLite", "CCrypto", "CSystem"],
            swiftSettings: optimizedFiles + small,
            linkerSettings: archives("sqlite3", "crypto")),
        .target(
            name: "KFNetwork", dependencies: ["KFSystem", "CCurl", "CZlib", "CCrypto"],
            swiftSettings: optimizedFiles + small, linkerSettings: archives("crypto")),
        .target(
            name: "KFTerms", dependencies: ["KFSystem", "KFImaging", "KFStorage", "KFNetwork", "CCrypto"],
            swiftSettings: strict + small),
        .target(
            name: "KFRemote", dependencies: ["KFTerms", "KFSystem", "KFImaging", "KFStorage", "KFNetwork"],
            swiftSettings: strict + small),
        .target(
            name: "KFLists", dependencies: ["KFTerms", "KFSystem", "KFImaging", "KFStorage", "CZlib", "CArchive"],
            swiftSettings: optimizedFiles),
        .target(
            name: "KFPipeline",
            dependencies: ["KFRemote", "KFTerms", "KFSystem", "KFImaging", "KFStorage", "KFNetwork"],
            swiftSettings: strict + small),
        .target(
            name: "KFCore",
            dependencies: ["KFPipeline", "KFLists", "KFRemote", "KFTerms", "KFSystem", "KFImaging", "KFStorage"],
            exclude: ["KFCore.docc"], swiftSettings: strict + small),
        // Foundation costs a start of the program several milliseconds, so that the command does without it.
        .target(name: "KFFoundation", dependencies: ["KFCore", "KFTerms", "KFImaging"], swiftSettings: strict),
        .target(name: "Command", dependencies: ["KFCore", "KFSystem"], swiftSettings: strict + small),
        .executableTarget(name: "kf", dependencies: ["Command", "CCommand"], swiftSettings: strict + small),

        .target(
            name: "Support", dependencies: ["CZlib", "CCrypto"], path: "Tests/Support",
            exclude: [
                "docs.sh", "gallery.py", "h2_server.py", "merge_symbols.py", "name_server.py", "s3_server.py",
                "sanitize.sh", "serve.sh", "serve_apache.sh", "served.sh", "setup.sh", "test.sh", "tls_server.py",
                "undocumented.py",
            ],
            swiftSettings: optimizedFiles),
        .target(
            name: "CGIFReference", path: "Tests/GIFReference", cSettings: strictC, linkerSettings: archives("gif")),
        .testTarget(
            name: "KFImagingTests", dependencies: ["KFImaging", "CGIFReference", "Support"], exclude: ["Reference"],
            swiftSettings: optimizedFiles),
        .testTarget(
            name: "KFStorageTests", dependencies: ["KFStorage", "KFSystem", "CSystem", "Support"], swiftSettings: strict
        ),
        .testTarget(name: "KFNetworkTests", dependencies: ["KFNetwork", "KFSystem", "Support"], swiftSettings: strict),
        .testTarget(
            name: "KFCoreTests",
            dependencies: [
                "KFCore", "KFPipeline", "KFLists", "KFRemote", "KFTerms", "KFSystem", "KFImaging", "KFStorage",
                "KFNetwork", "Support", "CZlib",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "KFFoundationTests", dependencies: ["KFFoundation", "KFCore", "Support"],
            exclude: ["Kingfisher"], swiftSettings: strict),
        // These measure time, so that they run alone.
        .testTarget(
            name: "KFMeasuringTests", dependencies: ["KFImaging", "KFStorage", "KFLists", "Support"],
            swiftSettings: strict),
        .testTarget(
            name: "EndToEnd", dependencies: ["kf", "Command", "Support"], path: "Tests/EndToEnd",
            exclude: ["demo.sh", "measures.py", "remotes.py", "shards.py"], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
