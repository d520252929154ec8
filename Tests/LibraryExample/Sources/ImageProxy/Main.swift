import Glibc

/// A reason why the server does not start.
struct Failure: Error {
    let description: String
}

/// usage: ImageProxy ORIGIN DIRECTORY    (prints its address)
@main
enum Main {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else {
            print("usage: ImageProxy ORIGIN DIRECTORY")
            exit(2)
        }
        do throws(Failure) {
            try await ImageProxy(origin: arguments[1], directory: arguments[2]).run()
        } catch {
            print("proxy: \(error.description)")
            exit(1)
        }
    }
}
