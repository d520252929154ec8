/// `kf man`: the manual page, for man(1).
enum ManCommand {
    static func run() -> ExitStatus {
        Terminal.print(ManPage.text)
        return .success
    }
}
