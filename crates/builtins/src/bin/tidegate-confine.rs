//! The launcher of confined commands, for programs that do not want to be it themselves.

fn main() -> std::process::ExitCode {
    tidegate_builtins::confine::main()
}
