import Foundation
import Support
import Testing

/// A data set of shards in the making: the command, a server of pictures, and a reader of the archives.
struct DataSet {
    let kf: KFCommand
    let png: [UInt8]

    init() throws {
        kf = try KFCommand()
        png = Array(try FixturesDirectory.named("png/grey.png").data)
    }

    /// A picture of its own for each name.
    func picture(_ name: String) -> [UInt8] {
        // Behind the header, 33 bytes.
        Array(png[..<33]) + PNGChunk.bytes("tEXt", Array("name\0\(name)".utf8)) + png[33...]
    }

    func digest(_ name: String) async throws -> String {
        let sum = try await Tool.run("sha256sum", input: Data(picture(name)))
        return String(sum.output.prefix(64))
    }

    /// A server of such pictures, with a pause before each. Paths with `missing` do not exist.
    func server(pause: Duration = .zero) throws -> FaultServer {
        try FaultServer { [self] request in
            if request.path.contains("missing") { return [.reply("404 Not Found")] }
            return [.pause(pause), .reply(body: picture(request.path))]
        }
    }

    func list(_ urls: [String]) -> Data { Data(urls.map { $0 + "\n" }.joined().utf8) }

    /// Writes the list of the commands.
    func write(_ urls: [String]) throws { try kf.home.write("list", list(urls)) }

    /// Kills a command at the given call on a file of the data set, of this many shards.
    func run(_ arguments: [String], killedAt call: String, _ number: Int, shards: Int) async throws -> CommandResult {
        let files = (0..<shards).flatMap { shard in
            [".tar", ".jsonl", "_stats.json"].flatMap { ["/.0000\(shard)\($0)", "/0000\(shard)\($0)"] }
        }
        let limits = (["", "/.kf-shards"] + files).flatMap { ["-P", kf.home.path("data").path + $0] }
        let injection = ["-e", "trace=\(call)", "-e", "inject=\(call):signal=KILL:when=\(number)"]
        return try await RunningCommand(
            "strace", ["-f", "-qq", "-o", "/dev/null"] + limits + injection + [kf.binary.path] + arguments,
            environment: kf.environment, directory: kf.home.url
        ).wait()
    }

    func remove(_ names: String...) throws {
        for name in names where FileManager.default.fileExists(atPath: kf.home.path(name).path) {
            try FileManager.default.removeItem(at: kf.home.path(name))
        }
    }

    /// A shard as `shards.py` reads it.
    struct Shard {
        let samples: [[String: Any]]
        let rows: [[String: Any]]

        var keys: [String] { samples.compactMap { $0["key"] as? String } }
        func values(_ name: String) -> [String?] { rows.map { $0[name] as? String } }
    }

    /// A Python that may have packages of PyPI.
    static let python = ProcessInfo.processInfo.environment["KF_PYTHON"] ?? "python3"

    static func hasPackage(_ name: String) async -> Bool {
        (try? await Tool.run(python, "-c", "import \(name)"))?.status == 0
    }

    /// Reads all shards. Fails when one is not whole.
    func shards(_ directory: String = "data") async throws -> [String: Shard] {
        let script = PackageRoot.url.appending(path: "Tests/EndToEnd/shards.py").path
        let result = try await Tool.run(Self.python, script, kf.home.path(directory).path)
        try #require(result.status == 0, "\(result)")
        let object = try JSONSerialization.jsonObject(with: result.standardOutput) as? [String: [String: Any]]
        return try #require(object).mapValues { shard in
            Shard(samples: shard["samples"] as? [[String: Any]] ?? [], rows: shard["rows"] as? [[String: Any]] ?? [])
        }
    }

    /// The statistics of a shard.
    func statistics(_ shard: String, in directory: String = "data") throws -> [String: Any] {
        let bytes = try Data(contentsOf: kf.home.path("\(directory)/\(shard)_stats.json"))
        return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }

    func names(_ directory: String = "data") -> [String] {
        TemporaryDirectory.files(in: kf.home.path(directory)).sorted()
    }
}
