import Foundation
import Support
import Testing

/// The servers that stand for remotes.
enum RemoteKind: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case nginx, nginxWithPassword, apache, apacheWithPassword, s3, s3WithToken, s3WithoutConditions, file

    static let user = "me"
    static let password = "p4ss:w/o+r@d"

    var testDescription: String { rawValue }

    /// The servers that this machine has.
    static let installed = Task {
        let hasS3 = await S3Server.isInstalled
        return allCases.filter { kind in
            switch kind {
            case .nginx, .nginxWithPassword: FileServer.isInstalled
            case .apache, .apacheWithPassword: ApacheServer.isInstalled
            case .s3, .s3WithToken, .s3WithoutConditions: hasS3
            case .file: true
            }
        }
    }

    /// One of each program: a password or a token changes nothing of the order of requests.
    static let programs = Task {
        await installed.value.filter { [RemoteKind.nginx, .apache, .s3, .file].contains($0) }
    }

    func start() throws -> RunningRemote {
        switch self {
        case .nginx:
            let server = try FileServer.webDAV()
            return RunningRemote(url: server.url("base"), root: server.root, owner: server)
        case .nginxWithPassword:
            let server = try FileServer.webDAV(FileServer.protecting(user: Self.user, password: Self.password))
            return RunningRemote(url: Self.withUser(server.url("base")), root: server.root, owner: server)
        case .apache:
            let server = try ApacheServer()
            return RunningRemote(url: server.url("base"), root: server.root, owner: server)
        case .apacheWithPassword:
            let server = try ApacheServer(user: .init(Self.user, Self.password))
            return RunningRemote(url: Self.withUser(server.url("base")), root: server.root, owner: server)
        case .s3, .s3WithToken, .s3WithoutConditions:
            let server = try S3Server(region: "eu-central-1", isConditional: self != .s3WithoutConditions)
            return RunningRemote(
                url: "s3://\(server.bucket)/base?region=\(server.region)", root: server.root, owner: server,
                environment: server.environment(self == .s3WithToken ? .temporary : .usual))
        case .file:
            let directory = try TemporaryDirectory()
            return RunningRemote(url: "file://\(directory.path("base").path)", root: directory.url, owner: directory)
        }
    }

    private static func withUser(_ url: String) -> String {
        let password = password.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        return url.replacing("//", with: "//\(user):\(password)@", maxReplacements: 1)
    }
}

/// A remote for `--remote`, which ends with its last reference.
struct RunningRemote: Sendable {
    let url: String
    /// The directory of the stored tree.
    let root: URL
    let owner: any AnyObject & Sendable
    var environment: [String: String] = [:]

    func files(_ branch: String) -> [String] {
        TemporaryDirectory.files(in: root.appendingPathComponent("base/kf1/\(branch)"))
    }

    /// Each object has the bytes that its name says. Files under other names are no objects.
    func expectWhole(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let names = files("cas").filter { $0.wholeMatch(of: /[0-9a-f]{2}\/[0-9a-f]{64}/) != nil }
        for names in stride(from: 0, to: names.count, by: 500).map({ names[$0..<min($0 + 500, names.count)] }) {
            let sums = try await RunningCommand(
                "sha256sum", Array(names), environment: Tool.environment,
                directory: root.appendingPathComponent("base/kf1/cas")
            ).wait()
            for line in sums.outputLines {
                let words = line.split(separator: " ")
                #expect(words.last?.hasSuffix(words[0]) == true, "\(line)", sourceLocation: sourceLocation)
            }
        }
    }
}
