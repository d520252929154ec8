import Foundation
import Support
import Testing

extension EndToEnd {
    /// What a user sees of connections that are used again, and of those that cannot be.
    @Suite("Connection reuse")
    final class ConnectionTests: CommandSuite {
        private func reply(_ body: Data) -> [UInt8] {
            Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
        }

        @Test("An unrequested second response is never taken for the next image", arguments: ["8", "1"])
        func strayImage(jobs: String) async throws {
            let names = ["png/rgb.png", "png/grey.png", "png/palette.png", "png/tall.png"]
            let pictures = try names.map { try FixturesDirectory.named($0).data }
            let stray = reply(try FixturesDirectory.named("png/one-pixel.png").data)
            let replies = pictures.map { reply($0) }
            let server = try FaultServer { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return [.send(replies[number % replies.count]), .send(stray)]
            }
            let list = (0..<20).map { server.url("/\($0)") }
            let result = try await kf.run(
                "prefetch", "--json", "-j", jobs, "--retry", "0", "-",
                input: Data(list.joined(separator: "\n").utf8))
            #expect(result.status == 0, "\(result)")
            let items = try result.items()
            #expect(items.count == 20)
            for item in items {
                let number = try #require(list.firstIndex(of: item.source))
                let path = try #require(item.path)
                #expect(
                    try Data(contentsOf: URL(fileURLWithPath: path)) == pictures[number % pictures.count],
                    "\(item.source)")
            }
        }

        @Test(
            "A stream that the server ends counts as a retry",
            arguments: [HTTP2Server.Step.refuse, .goAway, .close], [0, 2])
        func streamsCount(step: HTTP2Server.Step, retries: Int) async throws {
            let certificates = try await TestCertificates.shared
            let server = try HTTP2Server([step], identity: certificates.identity(.good))
            let item = try await kf.run(
                "fetch", "--json", "--retry", "\(retries)", "--cacert", certificates.authority, server.url("a.png")
            ).item()
            #expect(item.status == "failed")
            #expect(item.error?.message.contains("ended the HTTP/2 stream without a response") == true, "\(item)")
            #expect(try server.requests() == 1 + retries)
        }

        @Test("A retry fetches an image whose stream was refused")
        func refusedOnce() async throws {
            let certificates = try await TestCertificates.shared
            let picture = try FixturesDirectory.named("png/one-pixel.png").data
            let server = try HTTP2Server([.refuse, .serve], body: picture, identity: certificates.identity(.good))
            let item = try await kf.run(
                "fetch", "--json", "--cacert", certificates.authority, server.url("a.png")
            ).item()
            #expect(item.status == "fetched", "\(item)")
            #expect(item.attempts == 2)
            #expect(try server.requests() == 2)
        }

        @Test(
            "Connections that the server ends do not lose any image", .enabled(if: FileServer.isInstalled),
            arguments: ["keepalive_requests 7;", "keepalive_requests 100;", "keepalive_timeout 0;"])
        func refusedStreams(configuration: String) async throws {
            let certificates = try await TestCertificates.shared
            let server = try FileServer(
                configuration: [configuration], identity: certificates.identity(.good))
            let list = (0..<600).map { server.secureURL("png/one-pixel.png?\($0)") }
            let result = try await kf.run(
                "prefetch", "--json", "--retry", "0", "--cacert", certificates.authority, "-",
                input: Data(list.joined(separator: "\n").utf8))
            #expect(result.status == 0, "\(result.errors)")
            let items = try result.items()
            #expect(items.count == 600)
            #expect(items.allSatisfy { $0.status == "fetched" }, "\(result.errors)")
        }

        @Test("Bursts within the timeout are not a stall")
        func bursts() async throws {
            let picture = try FixturesDirectory.bytes("jpeg/landscape-444.jpg")
            let size = (picture.count + 3) / 4
            var steps: [FaultStep] = [.head("HTTP/1.1 200 OK", "Content-Length: \(picture.count)")]
            for start in stride(from: 0, to: picture.count, by: size) {
                steps += [.pause(.milliseconds(1200)), .send(Array(picture[start..<min(start + size, picture.count)]))]
            }
            let server = try FaultServer { [steps] _ in steps }
            let item = try await kf.run("fetch", "--json", "--retry", "0", "--timeout", "2s", server.url("/a")).item()
            #expect(item.status == "fetched", "\(String(describing: item.error))")
        }

        @Test(
            "The option --cacert replaces all authorities of the system",
            .enabled(if: FileServer.isInstalled && PrivateAuthorities.isPossible))
        func authorities() async throws {
            let certificates = try await TestCertificates.shared
            let other = try await TestCertificates(authority: "another-authority")
            let server = try FileServer(identity: certificates.identity(.good))
            let system = try await PrivateAuthorities(trusting: certificates.authority, file: other.authority)
            var kf = try system.wrapping(kf)
            let options = ["fetch", "--json", "--retry", "0", server.secureURL("png/rgb.png")]
            // The directory alone is enough where --cacert is not given.
            #expect(try await kf.run(options).item().status == "fetched")
            kf.environment["SSL_CERT_DIR"] = system.directory
            kf.environment["SSL_CERT_FILE"] = certificates.authority
            let refused = try await kf.run(options + ["--cacert", other.authority, "--force-refresh"]).item()
            #expect(refused.error?.message.contains("unknown authority") == true, "\(refused)")
            let taken = try await kf.run(options + ["--cacert", certificates.authority, "--force-refresh"]).item()
            #expect(taken.status == "fetched")
        }

        @Test(
            "CURL_CA_BUNDLE and SSL_CERT_FILE stand in for the system's authorities",
            .enabled(if: FileServer.isInstalled))
        func authoritiesOfTheEnvironment() async throws {
            let certificates = try await TestCertificates.shared
            let server = try FileServer(identity: certificates.identity(.good))
            let url = server.secureURL("png/rgb.png")
            var kf = kf
            let refused = try await kf.run("fetch", "--json", "--retry", "0", url).item()
            #expect(refused.error?.message.hasSuffix("unknown authority (--cacert names another one)") == true)
            for variable in ["SSL_CERT_FILE", "CURL_CA_BUNDLE"] {
                kf.environment[variable] = certificates.authority
                let item = try await kf.run("fetch", "--json", "--force-refresh", url).item()
                #expect(item.status == "fetched" && item.key == url, "\(item)")
                let config = try await kf.run("config")
                let row = config.output.split(separator: "\n").first { $0.hasPrefix("cacert ") } ?? ""
                #expect(row.contains(certificates.authority) && row.hasSuffix("default"), "\(config)")
                kf.environment[variable] = nil
            }
            kf.environment["SSL_CERT_FILE"] = "/nonexistent"
            kf.environment["CURL_CA_BUNDLE"] = certificates.authority
            #expect(try await kf.run("fetch", "--force-refresh", url).status == 0)
            kf.environment["CURL_CA_BUNDLE"] = nil
            let missing = try await kf.run("fetch", "--json", "--force-refresh", "--retry", "0", url).item()
            #expect(missing.error?.message.contains("/nonexistent") == true, "\(missing)")
        }
    }
}
